//! Finding the tasks of a run.

use std::path::PathBuf;

use unstuck_core::engine::BuildId;

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TasksError {
    /// Nothing was named, and there is no folder of tasks.
    #[error("there is nothing to run: no tasks were named, and there is no folder tasks/")]
    Nothing,
    /// What was named is empty.
    #[error("there is nothing to run: the goal is empty")]
    EmptyGoal,
    /// Every item of the plans that were named is ticked.
    #[error("there is nothing left to do: every item is ticked")]
    AllDone,
    /// Another run is at work on all of it.
    #[error("build {build} is at work on all of this already")]
    Begun {
        /// Which one.
        build: BuildId,
    },
    /// A folder without a task file.
    #[error("there is no task file in {}", folder.display())]
    EmptyFolder {
        /// Which one.
        folder: PathBuf,
    },
    /// What was named is not there.
    #[error("there is no file {name}")]
    NotThere {
        /// As it was named.
        name: String,
        /// What in that folder is called much like it.
        near: Option<String>,
    },
}

impl TasksError {
    /// Next steps, most useful first.
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
