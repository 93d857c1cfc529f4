//! The part of Unstuck that shows: the HTTP API, the live events and the pages.
//!
//! A [`Site`] hosts projects. What it shows is read from their stores; what people want done goes
//! through each project's [`Desk`], which whoever starts the server provides. Nothing is decided or
//! performed here, and nothing that an agent wrote is ever taken for more than text.

mod api;
mod app;
pub mod auth;
mod desk;
mod events;
mod listen;
mod metrics;
mod pages;
mod problem;
mod ready;
mod site;

pub use api::Asked;
pub use app::app;
pub use auth::{Caller, Reach, Role};
pub use desk::{Desk, JobStanding, NotReady, Refused, Stand, Wanted};
pub use listen::serve;
pub use problem::Problem;
pub use site::{Audience, Hosted, Site};
