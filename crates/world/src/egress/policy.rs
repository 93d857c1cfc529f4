//! Network policies of one kind of program, and their application to each run.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::host::HostPattern;
use super::listener::{EgressProxy, EgressSettings};
use super::own_servers::is_own_server;
use super::reach::{EgressDestinations, EgressReach, ReachEntry, ReachSetting};
use super::variables::{LoopbackRoute, ProxyAddress};
use crate::process::{Connections, PortForward, Wall};
use crate::provider::Proxies;

/// The network policy of agents, checks or setup commands.
#[derive(Clone, Debug, Default)]
pub enum EgressPolicy {
    /// The whole network is reachable.
    #[default]
    Open,
    /// No network. Only a network namespace can enforce that and leave a program's own loopback
    /// usable; a machine without one leaves the network open.
    Closed,
    /// The hosts that a proxy lets through.
    Proxied(Box<ProxiedEgress>),
}

/// A proxy, and services of this machine beside it.
#[derive(Clone, Debug)]
pub struct ProxiedEgress {
    /// The rules of the proxy.
    pub settings: EgressSettings,
    /// Services on this machine's loopback that are reached on the same port inside.
    pub relays: Vec<SocketAddr>,
    /// The way to all other loopback services.
    pub loopback: LoopbackRoute,
}

impl EgressPolicy {
    /// Returns the policy that allows only these hosts, which `setting` names. It is for one
    /// command that starts no server of its own: if every service of this machine is listed, the
    /// proxy leads to them.
    pub fn for_hosts(hosts: &[HostPattern], setting: ReachSetting, proxies: Proxies) -> Self {
        if hosts.is_empty() {
            return Self::Closed;
        }
        let reach = EgressReach::Hosts(hosts.iter().cloned().map(ReachEntry::Host).collect());
        let destinations = EgressDestinations::new(&reach, &[]);
        let relays = hosts.iter().filter_map(HostPattern::local_service).collect();
        let loopback = if hosts.iter().any(HostPattern::is_all_of_this_machine) {
            LoopbackRoute::Proxied
        } else {
            LoopbackRoute::Direct
        };
        let settings = EgressSettings { destinations, setting, proxies };
        Self::Proxied(Box::new(ProxiedEgress { settings, relays, loopback }))
    }

    /// Returns what an agent program is told about its network; `None` without a proxy. The clients
    /// of its commands (curl, git) do not show the text with which the proxy refuses a tunnel.
    pub fn describe_for_agent(&self) -> Option<String> {
        let Self::Proxied(proxied) = self else { return None };
        let EgressSettings { destinations, setting, .. } = &proxied.settings;
        let hosts = destinations.describe_for_agent();
        let line = destinations.render_allowing_line("HOST", *setting);
        let ReachSetting { heading, name } = setting;
        let section = heading.trim_matches(['[', ']']);
        Some(format!(
            "The network is open to {hosts} only. The sandbox refuses any other host: a command \
             shows `CONNECT tunnel failed, response 403` or `Refused by Unstuck`. That is no \
             outage, and trying again does not help. Only the operator opens a host, with the \
             setting {section}.{name}: `{line}` below {heading} in unstuck.toml. Work without it, \
             or say which line you need."
        ))
    }

    /// Applies the policy to one run: closes the network of its sandbox except for the ways out,
    /// and names the proxy in its environment. `socket` is the path at which a proxy may listen.
    /// The result has to live as long as the run.
    pub async fn apply_to_run(
        &self,
        socket: &Path,
        wall: &mut Wall,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> io::Result<Option<EgressProxy>> {
        let is_enclosed = wall.is_enclosed();
        let ProxiedEgress { settings, relays, loopback } = match self {
            Self::Open => return Ok(None),
            Self::Closed => {
                if is_enclosed {
                    wall.network = Connections::Closed(Vec::new());
                }
                return Ok(None);
            }
            Self::Proxied(proxied) => &**proxied,
        };
        let (egress, forwards) = if is_enclosed {
            let mut egress = EgressProxy::listen_on_socket(socket, settings.clone())?;
            for service in relays {
                egress.add_relay(&relay_socket_path(socket, service.port()), *service)?;
            }
            let forwards = egress.port_forwards();
            (egress, forwards)
        } else {
            let egress = EgressProxy::listen_on_loopback(settings.clone()).await?;
            // The ports are on the same loopback, so no bytes have to be forwarded.
            // A port that is open stays open: a server that starts later is not kept away.
            let services = relays.iter().filter(|service| !is_own_server(**service));
            let ports = egress.loopback_port().into_iter().chain(services.map(SocketAddr::port));
            let forwards = ports.map(|port| PortForward { port, socket: PathBuf::new() }).collect();
            (egress, forwards)
        };
        wall.network = Connections::Closed(forwards);
        ProxyAddress { loopback: *loopback, ..egress.proxy_address() }.announce_in(environment);
        Ok(Some(egress))
    }
}

/// Returns the path of the socket beside `socket` that leads to a service.
fn relay_socket_path(socket: &Path, port: u16) -> PathBuf {
    let mut name = socket.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{port}"));
    socket.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // B45: the hosts that are open, the sign of a refusal, and the line to write
    #[test]
    fn an_agent_is_told_the_rule_of_its_network() {
        let setting = ReachSetting { heading: "[agent]", name: "network" };
        let told = |reach: &EgressReach| {
            let destinations = EgressDestinations::for_agent(reach, &[]);
            let settings = EgressSettings { destinations, setting, proxies: Proxies::default() };
            let loopback = LoopbackRoute::Direct;
            let proxied = ProxiedEgress { settings, relays: Vec::new(), loopback };
            EgressPolicy::Proxied(Box::new(proxied)).describe_for_agent().unwrap()
        };
        let listed = ["service", "registries", "docs.example.com"];
        let listed = listed.map(|entry| ReachEntry::parse(entry).unwrap()).to_vec();
        let cases = [
            (EgressReach::Off, "open to the service of your model only.", "`network = [\"HOST\"]`"),
            (
                EgressReach::Registries,
                "open to the service of your model and the package registries only.",
                "`network = [\"registries\", \"HOST\"]` below [agent]",
            ),
            (
                EgressReach::Hosts(listed),
                "open to the service of your model, the package registries and docs.example.com only.",
                "`network = [\"service\", \"registries\", \"docs.example.com\", \"HOST\"]`",
            ),
        ];
        for (reach, hosts, line) in cases {
            let rule = told(&reach);
            for part in [hosts, line, "`CONNECT tunnel failed, response 403`", "agent.network"] {
                assert!(rule.contains(part), "{rule}");
            }
        }
        assert_eq!(EgressPolicy::Open.describe_for_agent(), None);
    }
}
