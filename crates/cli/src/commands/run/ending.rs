//! The outcomes of following builds.

use unstuck_core::fault::Code;

use crate::exit::Exit;
use crate::project::EndSignal;

/// The outcome for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuildsEnding {
    /// There was no build to continue.
    NothingToDo,
    /// Every task is done.
    Done,
    /// The builds are over, and some tasks were not done.
    SomeNotDone,
    /// A build could not go on at all.
    Failed(Code),
    /// A person is needed, and the maximum wait is over.
    NeedsPerson,
    /// All remaining work waits for an account or for the next day, and the maximum wait is over.
    Limited,
    /// Paused by a person, or by `--until`.
    Paused,
    /// Another process continues in the background.
    Background,
    /// A signal ended this process.
    Signal(EndSignal),
    /// The holder is gone.
    HolderGone,
}

impl BuildsEnding {
    pub(super) const fn to_exit(self) -> Exit {
        match self {
            Self::NothingToDo | Self::Done | Self::Background => Exit::Done,
            Self::SomeNotDone | Self::HolderGone => Exit::SomeFailed,
            Self::Failed(code) => Exit::from_code(code),
            Self::NeedsPerson => Exit::Waiting,
            Self::Limited => Exit::Limited,
            Self::Paused => Exit::Paused,
            Self::Signal(signal) => signal.to_exit(),
        }
    }
}
