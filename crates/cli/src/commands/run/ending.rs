//! How following builds ends.

use unstuck_core::fault::Code;

use crate::exit::Exit;
use crate::project::Signal;

/// How it ended for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// There was nothing to go on with.
    NothingToDo,
    /// Every task is done.
    Done,
    /// The builds are over, and some tasks were not done.
    SomeNotDone,
    /// A build could not go on at all.
    Failed(Code),
    /// A person is needed, and we do not wait any longer.
    NeedsPerson,
    /// Everything that is left waits for an account or for tomorrow, and we do not.
    Limited,
    /// Paused: by a person, or because it is time.
    Paused,
    /// It goes on in the background.
    Background,
    /// Ended from outside.
    Signal(Signal),
    /// Whoever held the project is gone.
    HolderGone,
}

impl Ending {
    pub(super) const fn exit(self) -> Exit {
        match self {
            Self::NothingToDo | Self::Done | Self::Background => Exit::Done,
            Self::SomeNotDone | Self::HolderGone => Exit::SomeFailed,
            Self::Failed(code) => Exit::of(code),
            Self::NeedsPerson => Exit::Waiting,
            Self::Limited => Exit::Limited,
            Self::Paused => Exit::Paused,
            Self::Signal(signal) => signal.exit(),
        }
    }
}
