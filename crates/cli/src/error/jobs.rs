//! Jobs.

use std::path::PathBuf;

use unstuck_store::Holder;

use crate::exit::Exit;

/// Why something about jobs could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobsError {
    /// No job has this name.
    #[error("there is no job {name}")]
    NoSuchJob {
        /// As it was named.
        name: String,
        /// Those that are called much like it.
        near: Vec<String>,
    },
    /// Somebody runs the jobs of this project already.
    #[error("{holder} runs the jobs of this project already")]
    Watched {
        /// Who.
        holder: Holder,
    },
    /// There is no job at all.
    #[error("there are no jobs in {}", root.display())]
    NoJobs {
        /// The root of the project.
        root: PathBuf,
    },
}

impl JobsError {
    /// The exit code it leads to.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Watched { .. } => Exit::Limited,
            Self::NoSuchJob { .. } | Self::NoJobs { .. } => Exit::Usage,
        }
    }

    /// Next steps, most useful first.
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
