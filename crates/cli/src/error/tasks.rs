//! Errors of finding the tasks of a run.

use std::path::PathBuf;

use unstuck_core::engine::BuildId;

/// The reason why there are no tasks to run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TasksError {
    /// No task was named, and there is no folder of tasks.
    #[error("there is nothing to run: no tasks were named, and there is no folder tasks/")]
    Nothing,
    /// The goal that was given is empty.
    #[error("there is nothing to run: the goal is empty")]
    EmptyGoal,
    /// Every item of the plans that were named is ticked.
    #[error("there is nothing left to do: every item is ticked")]
    AllDone,
    /// Another build is already at work on all of the tasks.
    #[error("build {build} is at work on all of this already")]
    Begun {
        /// The build that is at work on them.
        build: BuildId,
    },
    /// A folder without a task file.
    #[error("there is no task file in {}", folder.display())]
    EmptyFolder {
        /// The folder without task files.
        folder: PathBuf,
    },
    /// A file that was named does not exist.
    #[error("there is no file {name}")]
    NotThere {
        /// The name as given.
        name: String,
        /// A similar name in the same folder.
        near: Option<String>,
    },
}

impl TasksError {
    /// Returns the next steps, most useful first.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::Nothing | Self::EmptyGoal => vec![
                "`unstuck run \"a goal\"` runs one; `unstuck init` writes an example task"
                    .to_owned(),
            ],
            Self::Begun { .. } => vec!["`unstuck resume` follows it to its end".to_owned()],
            Self::AllDone => vec!["write `- [ ]` before what is to be done".to_owned()],
            Self::EmptyFolder { .. } => {
                vec!["tasks are files that end in .md; `unstuck init` writes an example".to_owned()]
            }
            Self::NotThere { near, .. } => {
                let near = near.as_ref().map(|near| format!("did you mean {near}?"));
                let goal = "a goal goes in quotes: `unstuck run \"make the login test pass\"`";
                near.into_iter().chain([goal.to_owned()]).collect()
            }
        }
    }
}
