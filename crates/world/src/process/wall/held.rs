//! What the machine really holds of a wall.

use serde::{Deserialize, Serialize};

/// What the machine really holds of a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Writing outside.
    pub files: Hold,
    /// Reading what is hidden.
    pub reading: Hold,
    /// Connections to the outside. `Partly`: neither TCP nor UDP, but local sockets that can be seen.
    pub network: Hold,
    /// Other processes: signals, tracing, what `/proc` tells about them. `Partly`: they are seen and can
    /// be slowed down; before Linux 6.12 they can be signalled too.
    pub processes: Hold,
    /// System calls that no build needs and that break out of walls.
    pub calls: Hold,
    /// How many processes and threads there are. `Partly`: they are counted, and all of them are ended
    /// when there are too many.
    pub limits: Hold,
    /// How much memory is used.
    pub memory: Hold,
    /// Whether the program has namespaces of its own.
    pub namespaces: bool,
}

/// Whether the machine holds a part of a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// It was not asked to.
    #[default]
    NotWanted,
    /// It cannot.
    NotPossible,
    /// It holds a part of it. For files: neither folders for temporary files nor the modes of files;
    /// before Linux 6.2 also not against cutting off a file that exists.
    Partly,
    /// It does.
    Fully,
}

impl Hold {
    /// Whether nothing of it is left open.
    pub const fn is_full(self) -> bool {
        matches!(self, Self::Fully)
    }
}

impl Held {
    /// Whether a program is kept from a person's files and from other programs.
    pub const fn is_whole(self) -> bool {
        self.files.is_full() && self.reading.is_full() && self.processes.is_full()
    }

    /// The same, with what seccomp adds: no system calls that break out, and no UDP beside no TCP.
    #[cfg(target_os = "linux")]
    pub(super) const fn with_calls(self, held: bool) -> Self {
        let calls = if held { Hold::Fully } else { Hold::NotPossible };
        Self { calls, ..self }
    }
}
