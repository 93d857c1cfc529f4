//! Jobs: scripts that run on a schedule or under `exec`, and the scheduler that reports when they
//! are due.
//!
//! Design: `docs/design/jobs.md`.

mod action_job;
mod cron;
mod job_options;
mod jobs_performer;
mod schedule;
mod schedule_error;
mod scheduler;
mod script;
mod script_performer;
#[cfg(test)]
mod tests;

pub use action_job::{ActionJob, ActionJobResult};
pub use job_options::{JobLogs, JobOptions};
pub use jobs_performer::JobsPerformer;
pub use schedule::Schedule;
pub use schedule_error::ScheduleError;
pub use scheduler::{JobTimetable, Scheduler};
pub use script::ScriptCommand;
pub use script_performer::ScriptPerformer;
