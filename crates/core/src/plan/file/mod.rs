//! Tasks as people write them: task files, plan files, and a goal in a sentence.
//!
//! Parses text into [`TaskSpec`](super::TaskSpec); no file is opened here. A mistake is a [`Problem`] with
//! its line and a hint, and all problems of all files are reported at once. `docs/design/tasks.md` describes
//! the format.

mod budget;
mod checklist;
mod front;
mod goal;
pub mod matter;
mod name;
mod needs;
mod outline;
mod problem;
mod read;
mod scope;
mod section;
mod task;
#[cfg(test)]
mod tests;
mod yaml;

pub use checklist::{Mark, tick};
pub use goal::goal;
pub use needs::{Elsewhere, Standing};
pub use problem::{Problem, Wrong};
pub use read::{ALL_BYTES_MAX, FILE_BYTES_MAX, Source, TASKS_MAX, names, read, read_beside};
