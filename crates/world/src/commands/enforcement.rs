//! The restrictions of commands that are really enforced, among them running without a network
//! where this machine can do that.
//!
//! Enforcement is tried out, not assumed: a network that cannot be closed is reported as open.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::timeout;

use super::policy::CommandRules;
use crate::process::{Connections, EnforcementLevel, Wall, WallEnforcement, WallLayers};

const TRY_MAX: Duration = Duration::from_secs(5);

/// Shell command that brings up loopback: tests use it, and it is not the network that is meant.
const LOOPBACK: &str = "ip link set lo up 2>/dev/null; exec \"$@\"";

/// The network access of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkIsolation {
    /// The network is allowed.
    Open,
    /// The network was to be closed, and this machine cannot enforce that.
    NotPossible,
    /// Neither TCP nor UDP, by Landlock and seccomp: not even to the machine itself.
    Landlock,
    /// No network, by a private namespace; the command reaches only its own loopback.
    Bubblewrap,
    /// No network, by `unshare`; its own loopback works if `ip` is installed.
    Unshare,
}

/// The restrictions of commands that are really enforced, as data to show: none is assumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnforcement {
    /// The variables that are passed on; all others are removed.
    pub variables: Vec<String>,
    /// Programs that have a shim.
    pub shims: Vec<String>,
    /// The extent to which the sandbox is enforced.
    pub held: WallEnforcement,
    /// The network access of commands.
    pub network: NetworkIsolation,
}

impl NetworkIsolation {
    /// Determines the network access that the rules lead to on this machine.
    pub async fn for_rules(rules: &CommandRules) -> Self {
        if rules.network { Self::Open } else { Self::detect_isolation().await }
    }

    async fn detect_isolation() -> Self {
        if WallLayers::detect().bubblewrap.is_some() {
            return Self::Bubblewrap;
        }
        let closed = Wall {
            writable: Some(Vec::new()),
            network: Connections::Closed(Vec::new()),
            ..Wall::default()
        };
        match Self::choose(closed.try_out()) {
            Some(chosen) => chosen,
            None if Self::Unshare.can_run().await => Self::Unshare,
            None => Self::NotPossible,
        }
    }

    /// Returns the isolation without bubblewrap, or `None` if the machine enforces no sandbox.
    /// `unshare` would replace the sandbox, so its rules about files take precedence over a closed
    /// network.
    const fn choose(held: WallEnforcement) -> Option<Self> {
        match (held.network, held.files) {
            (EnforcementLevel::NotPossible, EnforcementLevel::NotPossible) => None,
            (EnforcementLevel::NotPossible, _) => Some(Self::NotPossible),
            _ => Some(Self::Landlock),
        }
    }

    /// Applies this network access to the sandbox of a command. `unshare` cannot create its
    /// namespace from inside the sandbox: with it, there is no other sandbox.
    pub fn apply_to_wall(self, wall: Wall) -> Wall {
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

    /// Returns whether commands really have no network.
    pub const fn is_off(self) -> bool {
        matches!(self, Self::Landlock | Self::Bubblewrap | Self::Unshare)
    }

    /// Returns whether commands without a network can still reach a proxy.
    pub const fn can_filter(self) -> bool {
        matches!(self, Self::Landlock | Self::Bubblewrap)
    }

    /// Returns the words that precede a program and its arguments.
    pub fn command_prefix(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            Self::Open | Self::NotPossible | Self::Landlock | Self::Bubblewrap => &[],
            Self::Unshare => {
                &["unshare", "--map-root-user", "--net", "--", "sh", "-c", LOOPBACK, "sh"]
            }
        };
        words.iter().map(OsString::from).collect()
    }

    async fn can_run(self) -> bool {
        let words = self.command_prefix();
        let Some((program, arguments)) = words.split_first() else { return false };
        let mut command = Command::new(program);
        command.args(arguments).arg("true").kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        matches!(timeout(TRY_MAX, command.status()).await, Ok(Ok(status)) if status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B53: a sandbox that holds files is not given up for a closed network.
    #[test]
    fn rules_about_files_come_before_a_closed_network() {
        let held =
            |files, network| WallEnforcement { files, network, ..WallEnforcement::default() };
        let (full, none) = (EnforcementLevel::Fully, EnforcementLevel::NotPossible);
        assert_eq!(NetworkIsolation::choose(held(full, full)), Some(NetworkIsolation::Landlock));
        assert_eq!(NetworkIsolation::choose(held(full, none)), Some(NetworkIsolation::NotPossible));
        assert_eq!(NetworkIsolation::choose(held(none, none)), None);
    }
}
