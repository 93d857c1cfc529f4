//! Scripts that run at their times: when that is, and who is told when it has come.
//! The design is in `docs/design/jobs.md`.

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

pub use care::{Care, Logs};
pub use schedule::{Schedule, ScheduleError};
pub use scheduler::{Scheduler, Timetable};
pub use world::JobsWorld;
