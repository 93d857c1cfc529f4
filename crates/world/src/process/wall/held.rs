//! The parts of a wall that the machine really enforces.

use serde::{Deserialize, Serialize};

/// The parts of a wall that the machine really enforces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallEnforcement {
    /// Protection against writing outside.
    pub files: EnforcementLevel,
    /// Protection against reading hidden files.
    pub reading: EnforcementLevel,
    /// Protection against connections to the outside. `Partly`: neither TCP nor UDP is possible,
    /// but visible local sockets can be reached.
    pub network: EnforcementLevel,
    /// Protection of other processes: from signals, tracing, and reading their `/proc`. `Partly`:
    /// they are visible and can be slowed down; before Linux 6.12 they can be signaled too.
    pub processes: EnforcementLevel,
    /// Protection against system calls that no build needs and that break out of sandboxes.
    pub calls: EnforcementLevel,
    /// Limit on the number of processes and threads. `Partly`: they are counted, and all of them
    /// are killed when there are too many.
    pub limits: EnforcementLevel,
    /// Limit on memory.
    pub memory: EnforcementLevel,
    /// `true` if the program has namespaces of its own.
    pub namespaces: bool,
}

/// The degree to which the machine enforces a part of a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnforcementLevel {
    /// The part was not asked for.
    #[default]
    NotWanted,
    /// The machine cannot enforce the part.
    NotPossible,
    /// The machine enforces some of it. For files: neither folders for temporary files nor the
    /// modes of files are protected; before Linux 6.2 existing files can also be truncated.
    Partly,
    /// The machine enforces all of it.
    Fully,
}

impl EnforcementLevel {
    /// Returns whether the part is fully enforced.
    pub const fn is_full(self) -> bool {
        matches!(self, Self::Fully)
    }
}

impl WallEnforcement {
    /// Returns whether the operator's files and other programs are protected.
    pub const fn is_whole(self) -> bool {
        self.files.is_full() && self.reading.is_full() && self.processes.is_full()
    }

    /// Returns the same with the part that seccomp adds: no system calls that break out, and no
    /// UDP.
    #[cfg(target_os = "linux")]
    pub(super) const fn with_calls(self, held: bool) -> Self {
        let calls = if held { EnforcementLevel::Fully } else { EnforcementLevel::NotPossible };
        Self { calls, ..self }
    }
}
