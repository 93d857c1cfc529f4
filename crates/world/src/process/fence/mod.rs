//! A fence around a program: where it may write, and whether it may open connections. It is held by
//! the system, for the program and everything it starts, and nobody inside can take it down.
//!
//! The guard puts it up in the thread that starts the program and stays outside itself. What the
//! system cannot hold is said ([`Held`]), not pretended.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

/// What a program is to be kept from. Nothing, unless it is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// Where it may write: these files and everything below these folders, as far as they exist.
    /// Without a list, wherever its user may. Reading is not fenced.
    pub writable: Option<Vec<PathBuf>>,
    /// Whether it is refused to connect to and to listen on any TCP port, the machine's own too.
    pub tcp_refused: bool,
}

/// What the system really holds of a fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Writing outside.
    pub files: Hold,
    /// Connections over TCP. Other protocols are never part of it.
    pub tcp: Hold,
}

/// Whether the system holds a part of a fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// It was not asked to.
    #[default]
    NotWanted,
    /// It cannot.
    NotPossible,
    /// It does, but for cutting off files that exist: a kernel before 6.2.
    Partly,
    /// It does.
    Fully,
}

impl Fence {
    /// What the system would hold of it. It is tried out, on a thread that does nothing else.
    pub fn try_out(&self) -> Held {
        self.around(|| ()).map_or_else(|_| self.not_possible(), |((), held)| held)
    }

    /// Starts a program behind the fence.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<(Pid, Held)> {
        let (child, held) = self.around(|| command.spawn())?;
        Ok((Pid::from_child(&child?), held))
    }

    /// Does something behind the fence: processes that `act` starts stay there for good.
    pub(super) fn around<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<(T, Held)> {
        if *self == Self::default() {
            return Ok((act(), Held::default()));
        }
        // A fence stands around a thread and what it starts, so the rest of us stays outside.
        thread::scope(|scope| {
            let inside = || {
                let held = self.put_up();
                (act(), held)
            };
            let inside = thread::Builder::new().spawn_scoped(scope, inside)?;
            inside.join().map_err(|_| io::Error::other("the fence fell"))
        })
    }

    /// Puts it up around this thread.
    fn put_up(&self) -> Held {
        let files = self.writable.as_deref().map(system::fence_files);
        let tcp = self.tcp_refused.then(system::refuse_tcp);
        Held { files: files.unwrap_or_default(), tcp: tcp.unwrap_or_default() }
    }

    fn not_possible(&self) -> Held {
        let wanted = |wanted| if wanted { Hold::NotPossible } else { Hold::NotWanted };
        Held { files: wanted(self.writable.is_some()), tcp: wanted(self.tcp_refused) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_not_wanted_is_not_held() {
        assert_eq!(Fence::default().try_out(), Held::default());
        let files = Fence { writable: Some(Vec::new()), tcp_refused: false }.try_out();
        assert_ne!(files.files, Hold::NotWanted);
        assert_eq!(files.tcp, Hold::NotWanted);
        let tcp = Fence { writable: None, tcp_refused: true }.try_out();
        assert_eq!(tcp.files, Hold::NotWanted);
        assert_ne!(tcp.tcp, Hold::NotWanted);
    }

    #[test]
    fn whoever_puts_it_up_stays_outside() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("inside"), place.path().join("outside"));
        let fence = Fence { writable: Some(Vec::new()), tcp_refused: true };
        let (written, held) = fence.around(|| fs::write(&inside, "x").is_ok()).unwrap();
        assert_eq!(written, held.files == Hold::NotPossible);
        fs::write(&outside, "x").unwrap();
    }
}
