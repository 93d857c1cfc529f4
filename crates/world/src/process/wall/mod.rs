//! The wall: a sandbox around a program that limits where it may write, what it can see, and what
//! it can reach. The system enforces it for the program and all its descendants, and none of them
//! can remove it.
//!
//! The wall has up to three layers, all of those that the machine has. If bubblewrap works
//! (`bubblewrap`), the program lives in namespaces of its own, below Unstuck's init process there,
//! the guard's `stage`. Landlock and seccomp are set up by that process, or by the guard itself if
//! there are no namespaces, in the thread that starts the program. Parts that the system cannot
//! enforce are reported as such ([`WallEnforcement`]).

#[cfg(target_os = "linux")]
mod bubblewrap;
mod denied;
mod enforcement;
#[cfg(target_os = "linux")]
mod landlock;
mod places;
#[cfg(target_os = "linux")]
mod seccomp;
mod usual;
mod words;

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use rustix::process::Pid;

use crate::process::socket::PortForward;

#[cfg(target_os = "linux")]
use self::landlock as system;
pub use denied::DeniedPath;
pub use enforcement::{EnforcementLevel, WallEnforcement, WallLayers};

#[cfg(target_os = "linux")]
pub(super) use bubblewrap::EnclosedProgram;

/// The restrictions on a program; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wall {
    /// The files and folders, with everything below, that the program may write, as far as they
    /// exist. `None` means no restriction beyond those of its user.
    pub writable: Option<Vec<PathBuf>>,
    /// Paths that the program can neither read nor see, as far as they exist.
    pub hidden: Vec<PathBuf>,
    /// Paths that the program can read although they lie below a hidden one.
    pub readable: Vec<PathBuf>,
    /// Folders that replace others, if the program has a mount namespace.
    pub private: Vec<PrivateFolder>,
    /// The network access.
    pub network: Connections,
    /// The limits on resources.
    pub limits: ResourceLimits,
}

/// A folder that replaces another one inside a wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateFolder {
    /// The path that the program uses.
    pub at: PathBuf,
    /// The folder that it finds there; if empty, the corresponding path below the private folder
    /// that replaces the one around it.
    pub folder: PathBuf,
}

impl PrivateFolder {
    /// Creates an empty folder in place of the one at this path, kept in the private home.
    pub const fn in_private_home(at: PathBuf) -> Self {
        Self { at, folder: PathBuf::new() }
    }
}

/// The network access of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Connections {
    /// The same access as its user.
    #[default]
    Open,
    /// No access except for these forwards, which lead from a loopback port to a socket outside. In
    /// a network namespace of its own, the program can still use loopback.
    Closed(Vec<PortForward>),
}

/// The limits on resources of a program and all its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Maximum number of processes and threads at a time.
    pub processes: Option<u64>,
    /// Maximum memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Maximum size of a file in bytes.
    pub file_bytes: Option<u64>,
    /// Minimum free space in bytes on the disk of the working directory.
    pub disk_free_bytes_min: Option<u64>,
}

/// The place at which the inner layers are set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerPlacement {
    /// Inside namespaces, which already enforce most of the wall.
    InNamespaces,
    /// Directly on the machine: there are no other layers.
    Alone,
}

impl Wall {
    /// Returns how much of the wall the machine would enforce. The inner layers are tried on a
    /// thread of their own; namespaces were probed by the first call of [`WallLayers::detect`].
    pub fn try_out(&self) -> WallEnforcement {
        let layers = WallLayers::detect();
        let standing = layers.layer_placement();
        self.run_behind(layers, standing, || ())
            .map_or_else(|_| self.unenforced_parts(), |((), held)| held)
    }

    /// Returns whether a program inside it has namespaces of its own, with a network of its own.
    pub fn is_enclosed(&self) -> bool {
        self.writable.is_some() && WallLayers::detect().bubblewrap.is_some()
    }

    /// Returns the wall extended by the rules of the settings: their paths are added, and their
    /// network access and limits replace those of the wall.
    #[must_use]
    pub fn with_rules(mut self, rules: &Self) -> Self {
        let Self { writable, hidden, readable, private, network, limits } = rules;
        if let Some(known) = &mut self.writable {
            known.extend(writable.iter().flatten().cloned());
        }
        self.hidden.extend(hidden.iter().cloned());
        self.readable.extend(readable.iter().cloned());
        self.private.extend(private.iter().cloned());
        Self { network: network.clone(), limits: *limits, ..self }
    }

    /// Returns whether the wall has no restriction at all.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Starts a program behind the inner layers.
    pub(super) fn start_command(
        &self,
        layers: &WallLayers,
        command: &mut Command,
    ) -> io::Result<(Pid, WallEnforcement)> {
        let (child, held) = self.run_behind(layers, LayerPlacement::Alone, || command.spawn())?;
        Ok((Pid::from_child(&child?), held))
    }

    /// Calls `act` behind the inner layers: processes that it starts stay behind them for good.
    pub(super) fn run_behind<T: Send>(
        &self,
        layers: &WallLayers,
        standing: LayerPlacement,
        act: impl FnOnce() -> T + Send,
    ) -> io::Result<(T, WallEnforcement)> {
        if self.is_open() {
            return Ok((act(), WallEnforcement::default()));
        }
        // Both layers apply to a thread and its children, so the rest of this process stays
        // outside.
        thread::scope(|scope| {
            let inside = || {
                let held = self.apply_layers(layers, standing);
                (act(), held)
            };
            let inside = thread::Builder::new().spawn_scoped(scope, inside)?;
            inside.join().map_err(|_| io::Error::other("the thread behind the wall failed"))
        })
    }

    /// Applies the inner layers to this thread.
    fn apply_layers(&self, layers: &WallLayers, standing: LayerPlacement) -> WallEnforcement {
        let held = if layers.landlock {
            system::restrict(self, standing)
        } else {
            self.unenforced_parts()
        };
        #[cfg(target_os = "linux")]
        landlock::drop_capabilities();
        #[cfg(target_os = "linux")]
        let held = held.with_calls(layers.seccomp && seccomp::restrict(self, standing));
        match standing {
            LayerPlacement::InNamespaces => self.enforcement_in_namespaces(held),
            LayerPlacement::Alone => held,
        }
    }

    /// Returns the enforced parts if there are namespaces around the inner layers.
    fn enforcement_in_namespaces(&self, inner: WallEnforcement) -> WallEnforcement {
        let wanted = |hold, wanted| if wanted { EnforcementLevel::Fully } else { hold };
        WallEnforcement {
            files: wanted(inner.files, self.writable.is_some()),
            reading: wanted(inner.reading, !self.hidden.is_empty()),
            network: wanted(inner.network, self.network != Connections::Open),
            processes: EnforcementLevel::Fully,
            namespaces: true,
            ..inner
        }
    }

    fn unenforced_parts(&self) -> WallEnforcement {
        let wanted = |wanted| {
            if wanted { EnforcementLevel::NotPossible } else { EnforcementLevel::NotWanted }
        };
        let any = wanted(!self.is_open());
        WallEnforcement {
            files: wanted(self.writable.is_some()),
            reading: wanted(!self.hidden.is_empty()),
            network: wanted(self.network != Connections::Open),
            processes: any,
            calls: any,
            limits: wanted(self.limits.processes.is_some()),
            memory: wanted(self.limits.memory_bytes.is_some()),
            file_size: wanted(self.limits.file_bytes.is_some()),
            namespaces: false,
        }
    }
}

/// Systems other than Linux have no wall.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::{LayerPlacement, Wall, WallEnforcement};

    pub(super) fn restrict(wall: &Wall, _standing: LayerPlacement) -> WallEnforcement {
        wall.unenforced_parts()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_not_wanted_is_not_held() {
        assert_eq!(Wall::default().try_out(), WallEnforcement::default());
        let files = Wall { writable: Some(Vec::new()), ..Wall::default() }.try_out();
        assert_ne!(files.files, EnforcementLevel::NotWanted);
        assert_eq!(
            (files.network, files.reading),
            (EnforcementLevel::NotWanted, EnforcementLevel::NotWanted)
        );
        let network =
            Wall { network: Connections::Closed(Vec::new()), ..Wall::default() }.try_out();
        assert_eq!(network.files, EnforcementLevel::NotWanted);
        assert_ne!(network.network, EnforcementLevel::NotWanted);
    }

    #[test]
    fn the_process_that_puts_a_wall_up_stays_outside() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("inside");
        let outside = place.path().join("outside");
        let secret = place.path().join("secret");
        fs::write(&secret, "x").unwrap();
        let wall = Wall {
            writable: Some(Vec::new()),
            hidden: vec![secret.clone()],
            network: Connections::Closed(Vec::new()),
            ..Wall::default()
        };
        let try_both = || (fs::write(&inside, "x").is_ok(), fs::read(&secret).is_ok());
        let ((written, read), held) =
            wall.run_behind(&WallLayers::default(), LayerPlacement::Alone, try_both).unwrap();
        assert_eq!(written, held.files == EnforcementLevel::NotPossible);
        assert_eq!(read, held.reading == EnforcementLevel::NotPossible);
        fs::write(&outside, "x").unwrap();
        fs::read(&secret).unwrap();
    }
}
