//! Commands without a network, where this machine can do that.
//!
//! It is tried out, not assumed: what cannot be enforced is said to be open.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::timeout;

use super::policy::Rules;
use crate::process::{Fence, Hold};

/// How long one try may take.
const TRY_MAX: Duration = Duration::from_secs(5);

/// Tests talk to the machine itself; that is not the network that is meant.
const LOOPBACK: &str = "ip link set lo up 2>/dev/null; exec \"$@\"";

/// How a command stands to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// It may use it.
    Open,
    /// It was to be without, and this machine cannot do that.
    NotPossible,
    /// It has no TCP, by Landlock: not even to the machine itself. Other protocols pass.
    Landlock,
    /// It is without, by `bwrap`; only the machine itself can be reached, and only from inside.
    Bubblewrap,
    /// It is without, by `unshare`; the machine itself as above, where `ip` is installed.
    Unshare,
}

impl Network {
    /// What the rules come to on this machine.
    pub async fn of(rules: &Rules) -> Self {
        if rules.network { Self::Open } else { Self::off().await }
    }

    async fn off() -> Self {
        if (Fence { tcp_refused: true, ..Fence::default() }).try_out().tcp == Hold::Fully {
            return Self::Landlock;
        }
        for wall in [Self::Bubblewrap, Self::Unshare] {
            if wall.works().await {
                return wall;
            }
        }
        Self::NotPossible
    }

    /// The fence of a command that writes to these places only. Walls that a program puts up cannot
    /// be put up from behind a fence of files: where they stand, files are open.
    pub fn fence(self, writable: Vec<PathBuf>) -> Fence {
        let fenced = !matches!(self, Self::Bubblewrap | Self::Unshare);
        Fence { writable: fenced.then_some(writable), tcp_refused: self == Self::Landlock }
    }

    /// Whether commands really have no network.
    pub const fn is_off(self) -> bool {
        matches!(self, Self::Landlock | Self::Bubblewrap | Self::Unshare)
    }

    /// What stands before a program and its arguments.
    pub fn before(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            Self::Open | Self::NotPossible | Self::Landlock => &[],
            Self::Bubblewrap => &["bwrap", "--dev-bind", "/", "/", "--unshare-net", "--"],
            Self::Unshare => {
                &["unshare", "--map-root-user", "--net", "--", "sh", "-c", LOOPBACK, "sh"]
            }
        };
        words.iter().map(OsString::from).collect()
    }

    async fn works(self) -> bool {
        let words = self.before();
        let Some((program, arguments)) = words.split_first() else { return false };
        let mut command = Command::new(program);
        command.args(arguments).arg("true").kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        matches!(timeout(TRY_MAX, command.status()).await, Ok(Ok(status)) if status.success())
    }
}
