//! Scripts that run at their times: when that is, and who is told when it has come.
//! The design is in `docs/design/jobs.md`.

mod cron;
mod field;
mod schedule;
mod scheduler;
#[cfg(test)]
mod tests;
mod words;

pub use schedule::{Schedule, ScheduleError};
pub use scheduler::{Scheduler, Timetable};
