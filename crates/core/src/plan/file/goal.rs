//! A goal in a sentence or a paragraph, as a single task.

use super::name;
use super::problem::PlanFileMistake;
use super::task::BRIEF_BYTES_MAX;
use crate::plan::TaskSpec;

/// Creates the task for the goal `text`.
pub fn task_from_goal(text: &str) -> Result<TaskSpec, PlanFileMistake> {
    let text = text.trim();
    let Some(first) = text.lines().next() else { return Err(PlanFileMistake::Empty) };
    if text.len() > BRIEF_BYTES_MAX {
        return Err(PlanFileMistake::TooLong(text.len()));
    }
    Ok(TaskSpec {
        name: name::make_slug(first),
        title: name::make_title(first),
        goal: text.to_owned(),
        ..TaskSpec::default()
    })
}
