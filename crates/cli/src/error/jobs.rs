//! Errors of commands about jobs.

use std::path::PathBuf;

use unstuck_store::Holder;

use crate::exit::Exit;

/// The reason why a command about jobs could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobsError {
    /// No job has this name.
    #[error("there is no job {name}")]
    NoSuchJob {
        name: String,
        /// Names of jobs that are similar.
        near: Vec<String>,
    },
    /// Another process already runs the jobs of this project.
    #[error("{holder} runs the jobs of this project already")]
    Watched {
        /// The process that runs the jobs.
        holder: Holder,
    },
    /// The project has no jobs.
    #[error("there are no jobs in {}", root.display())]
    NoJobs {
        /// The root of the project.
        root: PathBuf,
    },
}

impl JobsError {
    /// Returns the exit code for this error.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Watched { .. } => Exit::Limited,
            Self::NoSuchJob { .. } | Self::NoJobs { .. } => Exit::Usage,
        }
    }

    /// Returns the next steps, most useful first.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NoSuchJob { near, .. } => {
                let near = near.join(" or ");
                let near = (!near.is_empty()).then(|| format!("did you mean {near}?"));
                near.into_iter().chain(["`unstuck jobs` lists them".to_owned()]).collect()
            }
            Self::Watched { .. } => vec![
                "`unstuck jobs` shows when each runs next; `unstuck jobs run NAME` runs one now"
                    .to_owned(),
            ],
            Self::NoJobs { .. } => vec![
                "`unstuck jobs add NAME --schedule 'every 5 minutes' -- COMMAND` adds one"
                    .to_owned(),
            ],
        }
    }
}
