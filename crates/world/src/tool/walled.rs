//! Recognizes failures that Unstuck's own sandbox caused. The network and the program are in order,
//! so neither a retry nor a question to the operator of the service helps.

use std::path::Path;

use unstuck_core::fault::{Category, Code, ErrorType, Fault};

use crate::commands::NetworkIsolation;
use crate::egress::RefusedTarget;
use crate::process::{Connections, DeniedPath, Wall};

/// The message to the agent if the network is off.
const NO_NETWORK: &str = "commands of this project have no network (commands.network is off): this is \
     no outage, and trying again does not help; work with what is here, or ask a person";

/// The message to the agent if only the proxy is reachable.
const ONLY_PROXY: &str = "commands of this project reach only the hosts that commands.network names, \
     through the proxy that HTTPS_PROXY names: this is no outage, and trying again does not help; \
     use the proxy, work with what is here, or ask a person";

/// Words about a connection, in lower case, in the messages of tools whose connection the system
/// refused.
const CONNECTING: [&str; 5] = ["connect", "resolve", "network", "socket", "host"];

/// Messages of the system for a refusal.
const REFUSED: [&str; 2] = ["permission denied", "operation not permitted"];

/// The access that the sandbox denied to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeniedAccess {
    /// All of the network.
    Network {
        /// `true` if a proxy is reachable.
        proxied: bool,
    },
    /// A host that the settings do not name.
    Host(RefusedTarget),
    /// A path.
    Path(DeniedPath),
}

impl DeniedAccess {
    /// Returns the message to the agent.
    pub(super) fn render_for_agent(&self) -> String {
        match self {
            Self::Network { proxied } => if *proxied { ONLY_PROXY } else { NO_NETWORK }.to_owned(),
            Self::Host(RefusedTarget { target, reason, .. }) => format!(
                "Unstuck refused the connection to {target}: {reason} (commands.network). This is \
                 no outage, and trying again does not help; work with what is here, or ask a person"
            ),
            Self::Path(denied) => {
                format!("{}; work below the worktree, or ask a person", denied.render_sentence())
            }
        }
    }

    /// Returns the sentence for the log.
    pub(super) fn render_for_people(&self) -> String {
        match self {
            Self::Network { proxied } => {
                let why =
                    if *proxied { "names hosts, and it did not use the proxy" } else { "is off" };
                format!("A command was kept from the network, because commands.network {why}.")
            }
            Self::Host(RefusedTarget { target, reason, .. }) => {
                format!("A command was kept from {target}: {reason} (commands.network).")
            }
            Self::Path(denied) => {
                let what = if denied.hidden { "reading" } else { "writing to" };
                let path = denied.path.display();
                let line = denied.settings_line();
                format!(
                    "A command was kept from {what} {path}. To allow it: `{line}` below [wall]."
                )
            }
        }
    }
}

/// Returns the access whose denial caused the failure; `None` if the sandbox did not cause it.
pub(super) fn find_denied_access(
    fault: &Fault,
    output: &str,
    network: NetworkIsolation,
    (wall, directory): (&Wall, &Path),
) -> Option<DeniedAccess> {
    if network.is_off() {
        let lower = output.to_lowercase();
        let refused = REFUSED.iter().any(|word| lower.contains(word));
        let outage = fault.category() == Category::Environment
            && fault.error_type() == ErrorType::Network
            && fault.code() != Code::EnvDiskFull;
        if outage || (refused && CONNECTING.iter().any(|word| lower.contains(word))) {
            let proxied = matches!(&wall.network, Connections::Closed(ways) if !ways.is_empty());
            return Some(DeniedAccess::Network { proxied });
        }
    }
    wall.find_denied(output, directory).map(DeniedAccess::Path)
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::{Kind, Tool};

    use super::*;

    fn fault(code: Code) -> Fault {
        Fault::new(Kind::bare(code), "shell", "x")
    }

    // B45: a refusal by the sandbox is never classified as an outage.
    #[test]
    fn a_closed_network_is_no_outage() {
        let output = "curl: (6) Could not resolve host: example.org";
        let wall = Wall::default();
        let at = (&wall, Path::new("/"));
        let of = |code, output: &str, network| {
            find_denied_access(&fault(code), output, network, at).is_some()
        };
        for code in [Code::EnvDns, Code::EnvConnection, Code::EnvUnavailable, Code::EnvRegistry] {
            assert!(of(code, output, NetworkIsolation::Landlock), "{code}");
            assert!(!of(code, output, NetworkIsolation::Open), "{code}");
            assert!(!of(code, output, NetworkIsolation::NotPossible), "{code}");
        }
        let refused = "Failed to connect to example.org port 443: Permission denied";
        assert!(of(Code::ToolAccessDenied, refused, NetworkIsolation::Landlock));
        assert!(!of(Code::LogicError, "assertion failed", NetworkIsolation::Landlock));
        assert!(!of(Code::EnvDiskFull, "No space left on device", NetworkIsolation::Landlock));
        let other = Fault::tool_missing("shell", "no jq", Tool::default());
        assert_eq!(
            find_denied_access(&other, "jq: not found", NetworkIsolation::Landlock, at),
            None
        );
    }
}
