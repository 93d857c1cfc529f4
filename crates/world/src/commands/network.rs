//! Commands without a network, where this machine can do that.
//!
//! It is tried out, not assumed: what cannot be enforced is said to be open.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::timeout;

use super::policy::Rules;
use crate::process::{Connections, Hold, Layers, Wall};

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
    /// It has neither TCP nor UDP, by Landlock and seccomp: not even to the machine itself.
    Landlock,
    /// It is without, by a namespace of its own; it reaches itself, and nothing else.
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
        if Layers::here().bubblewrap.is_some() {
            return Self::Bubblewrap;
        }
        let closed = Wall { network: Connections::Closed(Vec::new()), ..Wall::default() };
        if closed.try_out().network != Hold::NotPossible {
            return Self::Landlock;
        }
        if Self::Unshare.works().await {
            return Self::Unshare;
        }
        Self::NotPossible
    }

    /// The wall around a command, with this word about the network. `unshare` cannot put its own up
    /// from behind ours: where it stands, there is no other.
    pub fn within(self, wall: Wall) -> Wall {
        match self {
            Self::Unshare => Wall::default(),
            Self::Open | Self::NotPossible => Wall { network: Connections::Open, ..wall },
            Self::Landlock | Self::Bubblewrap => {
                let network = match wall.network {
                    Connections::Open => Connections::Closed(Vec::new()),
                    closed @ Connections::Closed(_) => closed,
                };
                Wall { network, ..wall }
            }
        }
    }

    /// Whether commands really have no network.
    pub const fn is_off(self) -> bool {
        matches!(self, Self::Landlock | Self::Bubblewrap | Self::Unshare)
    }

    /// Whether commands without a network can be left a proxy.
    pub const fn can_filter(self) -> bool {
        matches!(self, Self::Landlock | Self::Bubblewrap)
    }

    /// What stands before a program and its arguments.
    pub fn before(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            Self::Open | Self::NotPossible | Self::Landlock | Self::Bubblewrap => &[],
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
