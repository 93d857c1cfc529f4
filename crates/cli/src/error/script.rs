//! Scripts that say what they do: `exec`, `mutate` and `fail`.

use std::io;

use unstuck_core::fault::Code;

use crate::exit::Exit;

/// Why it could not be said or done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptError {
    /// A failure of ours that is not for others to state.
    #[error("{code} is about Unstuck itself")]
    AboutUs {
        /// Which one.
        code: Code,
    },
    /// No script is being run around us.
    #[error("the run around this is no script, or has ended")]
    NoScript,
    /// A key that cannot be used.
    #[error("this key cannot be used: {why}")]
    UnfitKey {
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no command to run.
    #[error("there is no command to run")]
    NoCommand,
    /// Nobody answers where a run says that whoever holds its project is.
    #[error("the process that runs this cannot be reached: {source}")]
    Unreachable {
        /// What the system said.
        source: io::Error,
    },
}

impl ScriptError {
    /// The exit code it leads to.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Unreachable { .. } => Exit::Limited,
            Self::AboutUs { .. } | Self::NoScript | Self::UnfitKey { .. } | Self::NoCommand => {
                Exit::Usage
            }
        }
    }

    /// Next steps, most useful first.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::AboutUs { .. } => vec![
                "`unstuck explain` lists the codes; LOGIC_ERROR says that the script is wrong"
                    .to_owned(),
            ],
            Self::UnfitKey { .. } => {
                vec!["take a short name for what is done, such as invoice-2026-11".to_owned()]
            }
            Self::NoScript => vec!["run the script with `unstuck exec -- SCRIPT`".to_owned()],
            Self::Unreachable { source } if source.kind() == io::ErrorKind::PermissionDenied => {
                vec![
                "a sandbox keeps this shell from it; an agent has the tool `mutate` for the same"
                    .to_owned(),
            ]
            }
            Self::Unreachable { .. } => vec![
                "the run that this belongs to has ended; start its script with `unstuck exec`"
                    .to_owned(),
            ],
            Self::NoCommand => vec!["write it after `--`: `unstuck exec -- COMMAND`".to_owned()],
        }
    }
}
