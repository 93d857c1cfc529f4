//! The HTTP server of Unstuck: the API, the live events and the pages.
//!
//! A [`ServerState`] hosts projects. It reads what it shows from their stores; commands of people go
//! through each project's [`ProjectHost`], which the caller that starts the server provides. The server
//! decides and performs nothing itself, and treats everything that an agent wrote as plain text.

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
pub use app::build_app;
pub use auth::{AccessRole, Caller, ProjectVisibility};
pub use desk::{
    BuildStartRequest, JobOverview, ProjectHost, ProjectHostError, ReadinessError, Stand,
};
pub use listen::serve_http;
pub use problem::Problem;
pub use site::{ProjectRegistration, QuestionAudience, ServerState};
