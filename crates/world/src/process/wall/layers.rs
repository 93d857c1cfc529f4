//! The layers of a wall that this machine has.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::LayerPlacement;

/// Environment variable with the names of layers to leave out, separated by commas, for testing
/// what each of them enforces.
const WITHOUT: &str = "UNSTUCK_WALL_WITHOUT";

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
