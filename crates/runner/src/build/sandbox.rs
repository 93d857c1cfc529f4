//! The sandbox of agents, and what the operator is told about it: the parts that this machine
//! enforces, and programs that it kept from running.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use unstuck_core::fault::Fault;
use unstuck_world::commands::{CommandShims, NetworkIsolation};
use unstuck_world::mcp;
use unstuck_world::process::{EnforcementLevel, Wall, WallEnforcement};
use unstuck_world::validate::{render_fence_denial, render_network_denial};
use unstuck_world::workspace::Workspace;

use super::context::BuildContext;
use crate::effects::EffectRequest;

/// The folder that agents may write to.
const COPY: &str = "their own copy of the project";
/// The folder that agents may write to where they work in the operator's own tree.
const OWN_TREE: &str = "your working tree";

/// The enforced sandbox of an agent, and its network access.
pub(super) type AgentSandboxFacts = (WallEnforcement, AgentNetwork);

/// The network access of agents.
#[derive(Clone, Copy, Debug)]
pub(super) enum AgentNetwork {
    /// The hosts that a proxy lets through, as far as the sandbox leaves no other way.
    AllowedHosts,
    /// What the sandbox of the agent program itself allows. Unstuck's own is not around it.
    OwnSandbox,
    /// The network that their commands have.
    ByCommands(NetworkIsolation),
}

impl BuildContext {
    /// Reports the enforced sandbox once, because it depends on the machine and is the same for all
    /// tasks. `find_out` tries the sandbox.
    pub(super) async fn remark_sandbox(
        &self,
        order: &EffectRequest,
        find_out: impl FnOnce() -> AgentSandboxFacts,
    ) {
        if self.settings.says_walls && !self.walls_told.swap(true, Ordering::Relaxed) {
            let tree = if self.settings.in_place { OWN_TREE } else { COPY };
            self.send_remark(order, &render_sandbox_remark(find_out(), tree)).await;
        }
    }

    /// Returns the sandbox of an agent's processes in a task's worktree. It includes read access to
    /// the shims of the run, and to the socket that the environment names.
    pub(super) fn agent_sandbox(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
        environment: &[(OsString, OsString)],
    ) -> Wall {
        let mut wall = workspace.build_wall(environment).with_rules(&self.settings.wall);
        let shims = self.shims_folder(order);
        wall.writable.iter_mut().for_each(|writable| writable.push(shims.join(CommandShims::LOG)));
        wall.readable.push(shims);
        let socket = environment.iter().find(|(name, _)| name == mcp::SOCKET);
        wall.readable.extend(socket.map(|(_, path)| PathBuf::from(path)));
        // Only the guard's executable itself is needed, not its folder.
        wall.readable.push(self.settings.guard.executable.clone());
        wall
    }

    /// Tells the operator that a check or a hook could not run because of the sandbox.
    pub(super) async fn remark_sandbox_block(&self, order: &EffectRequest, fault: &Fault) {
        if let Some(text) = render_network_denial(fault).or_else(|| render_fence_denial(fault)) {
            self.send_remark(order, &text).await;
        }
    }
}

fn render_sandbox_remark((held, reached): AgentSandboxFacts, tree: &str) -> String {
    if matches!(reached, AgentNetwork::OwnSandbox) {
        return format!(
            "Without bubblewrap, this agent works in its own sandbox and not in that of Unstuck. It \
             says that its commands cannot write outside {tree} and shared temporary folders, and \
             that they have no network; Unstuck has not tried that. They can read your home folder."
        );
    }
    let files = match held.files {
        EnforcementLevel::Fully | EnforcementLevel::Partly => {
            let mut cannot = format!("write outside {tree}");
            let others = [
                held.reading.is_full().then_some("read your home folder"),
                held.processes.is_full().then_some("touch your other programs"),
            ];
            let mut others = others.into_iter().flatten().peekable();
            while let Some(other) = others.next() {
                cannot.push_str(if others.peek().is_some() { ", " } else { " or " });
                cannot.push_str(other);
            }
            let but = if held.files.is_full() {
                ""
            } else {
                " They can still write to shared temporary folders, and change who may read a file."
            };
            format!("Agents cannot {cannot}.{but}")
        }
        EnforcementLevel::NotPossible | EnforcementLevel::NotWanted => {
            format!(
                "This machine cannot keep agents from writing outside {tree}. What they change in \
                 the project is checked in any case."
            )
        }
    };
    let network = match reached {
        AgentNetwork::AllowedHosts => describe_proxied_network(held.network),
        // An own sandbox has been described above, with its network.
        AgentNetwork::OwnSandbox => "",
        AgentNetwork::ByCommands(commands) => describe_command_network(commands),
    };
    format!("{files} {network}")
}

/// Describes what programs reach that are told to use the proxy, by what was tried out.
const fn describe_proxied_network(held: EnforcementLevel) -> &'static str {
    match held {
        EnforcementLevel::Fully => "They reach the hosts that your settings allow, and no others.",
        EnforcementLevel::Partly => {
            "They reach the hosts that your settings allow, and no others, but also programs of \
             this machine through local sockets."
        }
        EnforcementLevel::NotPossible | EnforcementLevel::NotWanted => {
            "This machine cannot keep them to the hosts that your settings allow: they can use the \
             whole network."
        }
    }
}

const fn describe_command_network(network: NetworkIsolation) -> &'static str {
    match network {
        NetworkIsolation::Open => "They can use the network.",
        NetworkIsolation::NotPossible => "This machine cannot keep their commands off the network.",
        NetworkIsolation::Landlock => "Their commands cannot open ordinary connections.",
        NetworkIsolation::Bubblewrap | NetworkIsolation::Unshare => {
            "Their commands have no network."
        }
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::text::lint_text;

    use super::*;

    // B53: nothing is said about the network that was not tried out.
    #[test]
    fn it_says_that_hosts_are_kept_to_only_where_they_are() {
        let says = |network| {
            let held = WallEnforcement { network, ..WallEnforcement::default() };
            let words = render_sandbox_remark((held, AgentNetwork::AllowedHosts), COPY);
            (words.contains("and no others."), words.contains("whole network"))
        };
        assert_eq!(says(EnforcementLevel::Fully), (true, false));
        assert_eq!(says(EnforcementLevel::Partly), (false, false));
        assert_eq!(says(EnforcementLevel::NotPossible), (false, true));
        assert_eq!(says(EnforcementLevel::NotWanted), (false, true));
    }

    // B53: another sandbox is not described as Unstuck's own, and what it leaves open is said.
    #[test]
    fn it_says_what_the_sandbox_of_an_agent_program_leaves_open() {
        let held = WallEnforcement { files: EnforcementLevel::Fully, ..WallEnforcement::default() };
        let words = render_sandbox_remark((held, AgentNetwork::OwnSandbox), COPY);
        for left_open in ["shared temporary folders", "read your home folder", "has not tried"] {
            assert!(words.contains(left_open), "{words}");
        }
    }

    #[test]
    fn its_texts_are_plain() {
        for hold in [
            EnforcementLevel::Fully,
            EnforcementLevel::Partly,
            EnforcementLevel::NotPossible,
            EnforcementLevel::NotWanted,
        ] {
            let held = WallEnforcement {
                files: hold,
                reading: hold,
                processes: hold,
                network: hold,
                ..WallEnforcement::default()
            };
            let networks = [
                NetworkIsolation::Open,
                NetworkIsolation::NotPossible,
                NetworkIsolation::Landlock,
                NetworkIsolation::Bubblewrap,
                NetworkIsolation::Unshare,
            ];
            let networks = networks.into_iter().map(AgentNetwork::ByCommands);
            for reached in networks.chain([AgentNetwork::AllowedHosts, AgentNetwork::OwnSandbox]) {
                for tree in [COPY, OWN_TREE] {
                    let words = render_sandbox_remark((held, reached), tree);
                    assert_eq!(lint_text(&words), [], "{words}");
                }
            }
        }
    }
}
