//! The wall: a sandbox around a program that limits where it may write, what it can see, and what
//! it can reach. The system enforces it for the program and all its descendants, and none of them
//! can remove it.
//!
//! The wall has up to three layers, all of those that the machine has. If bubblewrap works
//! (`bubblewrap`), the program lives in namespaces of its own, below Unstuck's init process there
//! (`inner`). Landlock and seccomp are set up by that process, or by the guard itself if there are
//! no namespaces, in the thread that starts the program. Parts that the system cannot enforce are
//! reported as such ([`Held`]).

#[cfg(target_os = "linux")]
pub mod attack;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod count;
mod denied;
mod held;
#[cfg(target_os = "linux")]
pub(super) mod inner;
#[cfg(target_os = "linux")]
mod landlock;
mod layers;
#[cfg(not(target_os = "linux"))]
mod other;
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

use crate::egress::Forward;

#[cfg(target_os = "linux")]
use self::landlock as system;
pub use denied::Denied;
pub use held::{Held, Hold};
pub use layers::Layers;
#[cfg(not(target_os = "linux"))]
use other as system;

#[cfg(target_os = "linux")]
pub(super) use bubblewrap::Enclosed;

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
    pub private: Vec<Private>,
    /// The network access.
    pub network: Connections,
    /// The limits on resources.
    pub limits: Limits,
}

/// A folder that replaces another one inside a wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Private {
    /// The path that the program uses.
    pub at: PathBuf,
    /// The folder that it finds there; if empty, the corresponding path below the private folder
    /// that replaces the one around it.
    pub folder: PathBuf,
}

impl Private {
    /// Creates an empty folder in place of the one at this path, kept in the private home.
    pub const fn of_own(at: PathBuf) -> Self {
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
    Closed(Vec<Forward>),
}

/// The limits on resources of a program and all its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of processes and threads at a time.
    pub processes: Option<u64>,
    /// Maximum memory in bytes.
    pub memory_bytes: Option<u64>,
}

/// The place at which the inner layers are set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Inside namespaces, which already enforce most of the wall.
    InNamespaces,
    /// Directly on the machine: there are no other layers.
    Alone,
}

impl Wall {
    /// Returns how much of the wall the machine would enforce. The inner layers are tried on a
    /// thread of their own; namespaces were probed by the first call of [`Layers::here`].
    pub fn try_out(&self) -> Held {
        let layers = Layers::here();
        let standing = layers.standing();
        self.around(layers, standing, || ()).map_or_else(|_| self.not_possible(), |((), held)| held)
    }

    /// Returns the wall extended by the rules of the settings: their paths are added, and their
    /// network access and limits replace those of the wall.
    #[must_use]
    pub fn with(mut self, rules: &Self) -> Self {
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
    pub(super) fn start(&self, layers: &Layers, command: &mut Command) -> io::Result<(Pid, Held)> {
        let (child, held) = self.around(layers, Standing::Alone, || command.spawn())?;
        Ok((Pid::from_child(&child?), held))
    }

    /// Calls `act` behind the inner layers: processes that it starts stay behind them for good.
    pub(super) fn around<T: Send>(
        &self,
        layers: &Layers,
        standing: Standing,
        act: impl FnOnce() -> T + Send,
    ) -> io::Result<(T, Held)> {
        if self.is_open() {
            return Ok((act(), Held::default()));
        }
        // Both layers apply to a thread and its children, so the rest of this process stays
        // outside.
        thread::scope(|scope| {
            let inside = || {
                let held = self.put_up(layers, standing);
                (act(), held)
            };
            let inside = thread::Builder::new().spawn_scoped(scope, inside)?;
            inside.join().map_err(|_| io::Error::other("the thread behind the wall failed"))
        })
    }

    /// Applies the inner layers to this thread.
    fn put_up(&self, layers: &Layers, standing: Standing) -> Held {
        let held =
            if layers.landlock { system::restrict(self, standing) } else { self.not_possible() };
        #[cfg(target_os = "linux")]
        landlock::drop_capabilities();
        #[cfg(target_os = "linux")]
        let held = held.with_calls(layers.seccomp && seccomp::restrict(self, standing));
        match standing {
            Standing::InNamespaces => self.held_by_namespaces(held),
            Standing::Alone => held,
        }
    }

    /// Returns the enforced parts if there are namespaces around the inner layers.
    fn held_by_namespaces(&self, inner: Held) -> Held {
        let wanted = |hold, wanted| if wanted { Hold::Fully } else { hold };
        Held {
            files: wanted(inner.files, self.writable.is_some()),
            reading: wanted(inner.reading, !self.hidden.is_empty()),
            network: wanted(inner.network, self.network != Connections::Open),
            processes: Hold::Fully,
            namespaces: true,
            ..inner
        }
    }

    fn not_possible(&self) -> Held {
        let wanted = |wanted| if wanted { Hold::NotPossible } else { Hold::NotWanted };
        let any = wanted(!self.is_open());
        Held {
            files: wanted(self.writable.is_some()),
            reading: wanted(!self.hidden.is_empty()),
            network: wanted(self.network != Connections::Open),
            processes: any,
            calls: any,
            limits: wanted(self.limits.processes.is_some()),
            memory: wanted(self.limits.memory_bytes.is_some()),
            namespaces: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_not_wanted_is_not_held() {
        assert_eq!(Wall::default().try_out(), Held::default());
        let files = Wall { writable: Some(Vec::new()), ..Wall::default() }.try_out();
        assert_ne!(files.files, Hold::NotWanted);
        assert_eq!((files.network, files.reading), (Hold::NotWanted, Hold::NotWanted));
        let network =
            Wall { network: Connections::Closed(Vec::new()), ..Wall::default() }.try_out();
        assert_eq!(network.files, Hold::NotWanted);
        assert_ne!(network.network, Hold::NotWanted);
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
            wall.around(&Layers::default(), Standing::Alone, try_both).unwrap();
        assert_eq!(written, held.files == Hold::NotPossible);
        assert_eq!(read, held.reading == Hold::NotPossible);
        fs::write(&outside, "x").unwrap();
        fs::read(&secret).unwrap();
    }
}
