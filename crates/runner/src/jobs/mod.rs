//! Jobs: scripts that run on a schedule, and the scheduler that reports when they are due.
//! Design: `docs/design/jobs.md`.

mod action_job;
mod care;
pub(crate) mod check;
mod cron;
mod field;
mod schedule;
mod scheduler;
#[cfg(test)]
mod tests;
mod words;
mod world;

pub use action_job::{ActionJob, ActionJobResult};
pub use care::{JobLogs, JobOptions};
pub use schedule::{Schedule, ScheduleError};
pub use scheduler::{JobTimetable, Scheduler};
pub use world::JobsPerformer;
