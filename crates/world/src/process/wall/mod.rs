//! A wall around a program: where it may write, what it cannot see, and what it can reach. The
//! system holds it, for the program and everything it starts, and nothing inside can take it down.
//!
//! It has up to three layers, all of those that the machine has. Where bubblewrap works
//! (`bubblewrap`) the program lives in namespaces of its own, below a stage of ours that is the first
//! process there (`inner`). Landlock and seccomp are put up by that stage, or by the guard itself
//! where there are no namespaces, in the thread that starts the program. What the system cannot hold
//! is reported as not held ([`Held`]).

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

/// What a program is kept from. Nothing, unless it is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wall {
    /// Where the program may write: these files and everything below these folders, as far as they
    /// exist. Without a list, wherever its user may.
    pub writable: Option<Vec<PathBuf>>,
    /// What it neither reads nor sees, as far as it exists.
    pub hidden: Vec<PathBuf>,
    /// What it reads although it lies below something that is hidden.
    pub readable: Vec<PathBuf>,
    /// Folders that take the place of others, where the program has a namespace for its mounts.
    pub private: Vec<Private>,
    /// What it reaches over the network.
    pub network: Connections,
    /// How much of the machine it may use.
    pub limits: Limits,
}

/// A folder that stands in for another one inside a wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Private {
    /// The path that the program uses.
    pub at: PathBuf,
    /// The folder that it finds there; without one, that below the folder that takes the place of the
    /// one around it.
    pub folder: PathBuf,
}

impl Private {
    /// An empty folder in place of the one at this path, kept in the private home.
    pub const fn of_own(at: PathBuf) -> Self {
        Self { at, folder: PathBuf::new() }
    }
}

/// What a program reaches over the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Connections {
    /// Everything that its user reaches.
    #[default]
    Open,
    /// Nothing but these ways out, which lead from a loopback port to a socket outside. In a network namespace of its own it still talks to itself.
    Closed(Vec<Forward>),
}

/// How much of the machine a program and everything it starts may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
}

/// Where the innermost layers are put up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Inside namespaces, which hold most of it already.
    InNamespaces,
    /// On the machine itself: these layers are all there is.
    Alone,
}

impl Wall {
    /// What the machine would hold of it. The inner layers are tried on a thread that does nothing
    /// else; namespaces were tried when [`Layers::here`] was asked first.
    pub fn try_out(&self) -> Held {
        let layers = Layers::here();
        let standing = layers.standing();
        self.around(layers, standing, || ()).map_or_else(|_| self.not_possible(), |((), held)| held)
    }

    /// The same with what the rules of settings add: places of each kind, and their word about the
    /// network and limits.
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

    /// Whether there is anything that it keeps a program from.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Starts a program behind the inner layers.
    pub(super) fn start(&self, layers: &Layers, command: &mut Command) -> io::Result<(Pid, Held)> {
        let (child, held) = self.around(layers, Standing::Alone, || command.spawn())?;
        Ok((Pid::from_child(&child?), held))
    }

    /// Does something behind the inner layers: processes that `act` starts stay there for good.
    pub(super) fn around<T: Send>(
        &self,
        layers: &Layers,
        standing: Standing,
        act: impl FnOnce() -> T + Send,
    ) -> io::Result<(T, Held)> {
        if self.is_open() {
            return Ok((act(), Held::default()));
        }
        // Both layers stand around a thread and what it starts, so the rest of us stays outside.
        thread::scope(|scope| {
            let inside = || {
                let held = self.put_up(layers, standing);
                (act(), held)
            };
            let inside = thread::Builder::new().spawn_scoped(scope, inside)?;
            inside.join().map_err(|_| io::Error::other("the thread behind the wall failed"))
        })
    }

    /// Puts the inner layers up around this thread.
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

    /// What holds where namespaces stand around the inner layers.
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
        let (inside, outside) = (place.path().join("inside"), place.path().join("outside"));
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
