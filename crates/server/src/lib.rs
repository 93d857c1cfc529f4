//! The HTTP server of Unstuck: the API, the live events and the pages.
//!
//! A [`ServerState`] hosts projects. It reads what it shows from their stores; commands of people go
//! through each project's [`ProjectHost`], which the caller that starts the server provides. The server
//! decides and performs nothing itself, and treats everything that an agent wrote as plain text.

mod api;
mod app;
pub mod auth;
mod events;
mod html;
mod listen;
mod monitoring;
mod pages;
mod problem;
mod project_host;
mod response_cache;
mod server_state;

pub use api::Asked;
pub use app::build_app;
pub use auth::{AccessRole, Caller, ProjectVisibility};
pub use listen::serve_http;
pub use problem::Problem;
pub use project_host::{
    BuildStartRequest, JobOverview, OrderedBuild, ProjectHost, ProjectHostError, ReadinessError,
    Stand,
};
pub use server_state::{ProjectRegistration, QuestionAudience, ServerState};
