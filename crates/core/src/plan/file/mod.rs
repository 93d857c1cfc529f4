//! Tasks as people write them: task files, plan files, and a goal in a sentence.
//!
//! Parses text into [`TaskSpec`](super::TaskSpec); no file is opened here. A mistake is a [`PlanFileProblem`] with
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

pub use checklist::{ChecklistMark, tick_item};
pub use goal::task_from_goal;
pub use needs::{DependencyState, ExternalTask};
pub use problem::{PlanFileMistake, PlanFileProblem};
pub use read::{
    ALL_BYTES_MAX, FILE_BYTES_MAX, PlanSource, TASKS_MAX, parse_tasks, parse_tasks_with_external,
    task_names,
};
