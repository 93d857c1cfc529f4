//! The layers of a wall that this machine has, and the parts that it really enforces.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::LayerPlacement;

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
    /// Limit on memory. `Partly`: it is measured, and all processes are killed when they use too
    /// much.
    pub memory: EnforcementLevel,
    /// Limit on the size of a file.
    pub file_size: EnforcementLevel,
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

/// Environment variable with the names of layers to leave out, separated by commas, for testing
/// what each of them enforces.
const WITHOUT: &str = "UNSTUCK_WITHOUT_LAYERS";

/// The layers that walls are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallLayers {
    /// The path of bubblewrap, which creates namespaces, if it works.
    pub bubblewrap: Option<PathBuf>,
    /// `true` to use Landlock, as far as the kernel has it.
    pub landlock: bool,
    /// `true` to use seccomp.
    pub seccomp: bool,
}

/// The layers that every Linux may have, without namespaces.
impl Default for WallLayers {
    fn default() -> Self {
        Self { bubblewrap: None, landlock: true, seccomp: true }
    }
}

impl WallLayers {
    /// Returns the layers of this machine. Namespaces are probed once in each process.
    pub fn detect() -> &'static Self {
        static HERE: OnceLock<WallLayers> = OnceLock::new();
        HERE.get_or_init(|| {
            let without = std::env::var_os(WITHOUT).unwrap_or_default();
            let without = without.to_string_lossy();
            let has = |layer| without.split(',').all(|left_out| left_out.trim() != layer);
            Self {
                bubblewrap: if has("bubblewrap") { find_bubblewrap() } else { None },
                landlock: has("landlock"),
                seccomp: has("seccomp"),
            }
        })
    }

    pub(super) const fn layer_placement(&self) -> LayerPlacement {
        match self.bubblewrap {
            Some(_) => LayerPlacement::InNamespaces,
            None => LayerPlacement::Alone,
        }
    }
}

#[cfg(target_os = "linux")]
fn find_bubblewrap() -> Option<PathBuf> {
    super::bubblewrap::find_working_program()
}

#[cfg(not(target_os = "linux"))]
const fn find_bubblewrap() -> Option<PathBuf> {
    None
}
