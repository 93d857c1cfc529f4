//! Tasks as people write them: task files, plan files, and a goal in a sentence.
//!
//! Parses text into [`TaskSpec`](super::TaskSpec); no file is opened here. A mistake is a [`PlanFileProblem`] with
//! its line and a hint, and all problems of all files are reported at once. `docs/design/tasks.md` describes
//! the format.

mod checklist;
mod front;
mod marks;
pub mod matter;
mod name;
mod outline;
mod problem;
mod read;
mod section;
mod task;
#[cfg(test)]
mod tests;

pub use checklist::{ChecklistMark, tick_item};
pub use marks::{carry_marks, differ_only_in_marks, restore_marks};
pub use name::{DependencyState, ExternalTask};
pub use problem::{ALL_BYTES_MAX, FILE_BYTES_MAX, PlanFileMistake, PlanFileProblem, TASKS_MAX};
pub use read::{PlanSource, parse_tasks, parse_tasks_with_external, task_names};
pub use task::task_from_goal;
