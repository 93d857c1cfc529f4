//! Repositories, programs, services and runners that the tests of several crates set up. A step that fails
//! ends the test.

#![expect(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "all of it is test code"
)]

mod fifo;
mod program;
mod repository;
#[cfg(feature = "runner")]
mod running_project;
#[cfg(feature = "runner")]
mod service;
#[cfg(feature = "runner")]
mod settings;

pub use fifo::{FifoReader, make_fifo};
pub use program::{RunningProgram, write_program};
pub use repository::{TestRepo, commit_all, init_repository, run_git, try_git, write_file};
#[cfg(feature = "runner")]
pub use running_project::{
    RunningProject, make_job, make_runner_setup, make_tasks, succeed_effect,
};
#[cfg(feature = "runner")]
pub use service::{HttpService, SeenRequest, ServiceReply};
#[cfg(feature = "runner")]
pub use settings::{
    make_build_settings, make_checks, make_model_settings, make_scripted_agent, make_task_settings,
};
