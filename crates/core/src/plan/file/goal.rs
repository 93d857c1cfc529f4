//! A goal in a sentence or a paragraph, as a single task.

use super::name;
use super::problem::Wrong;
use super::task::BRIEF_BYTES_MAX;
use crate::plan::TaskSpec;

/// Creates the task for the goal `text`.
pub fn goal(text: &str) -> Result<TaskSpec, Wrong> {
    let text = text.trim();
    let Some(first) = text.lines().next() else { return Err(Wrong::Empty) };
    if text.len() > BRIEF_BYTES_MAX {
        return Err(Wrong::TooLong(text.len()));
    }
    Ok(TaskSpec {
        name: name::slug(first),
        title: name::title(first),
        goal: text.to_owned(),
        ..TaskSpec::default()
    })
}
