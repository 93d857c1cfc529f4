//! Errors of the commands that scripts call: `exec`, `mutate` and `fail`.

use std::io;

use unstuck_core::fault::Code;

use crate::exit::Exit;

/// The reason why a call of a script could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptError {
    /// A fault code about Unstuck itself, which a script may not state.
    #[error("{code} is about Unstuck itself")]
    AboutUs {
        /// The code that the script stated.
        code: Code,
    },
    /// No script is running around this call.
    #[error("the run around this is no script, or has ended")]
    NoScript,
    /// An idempotency key that cannot be used.
    #[error("this key cannot be used: {why}")]
    UnfitKey {
        /// The rule that the key breaks.
        why: &'static str,
    },
    /// There is no command to run.
    #[error("there is no command to run")]
    NoCommand,
    /// The control socket that the run names for its holder does not answer.
    #[error("the process that runs this cannot be reached: {source}")]
    Unreachable {
        /// The error of the connection.
        source: io::Error,
    },
}

impl ScriptError {
    /// Returns the exit code for this error.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Unreachable { .. } => Exit::Limited,
            Self::AboutUs { .. } | Self::NoScript | Self::UnfitKey { .. } | Self::NoCommand => {
                Exit::Usage
            }
        }
    }

    /// Returns the next steps, most useful first.
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
