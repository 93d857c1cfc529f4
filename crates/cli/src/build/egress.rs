//! Network access of agents, setup commands and checks, from the settings.

use std::net::SocketAddr;

use unstuck_world::egress::{
    Destinations, EgressPolicy, EgressSettings, HostPattern, LoopbackWay, ProxiedEgress, Reach,
    ReachSetting, Target, service_target,
};

use super::agents::Agents;
use super::service;
use crate::settings::{Provider, Settings};

const AGENT: ReachSetting = ReachSetting { heading: "[agent]", name: "network" };
const COMMANDS: ReachSetting = ReachSetting { heading: "[commands]", name: "network" };
const SETUP: ReachSetting = ReachSetting { heading: "[run]", name: "setup_network" };
const CHECKS: ReachSetting = ReachSetting { heading: "[validate]", name: "network" };

impl Agents<'_> {
    /// Returns the network access of an agent program: its service, and the hosts in `agent.network`. A
    /// model behind an API is called by the supervisor itself.
    pub(super) fn egress(&self, provider: Provider) -> EgressPolicy {
        let reach = &self.settings.agent.network.0;
        if matches!(provider, Provider::AnthropicApi | Provider::OpenAiApi) || *reach == Reach::Open
        {
            return EgressPolicy::Open;
        }
        let service = self.service_targets(provider);
        let patterns: Vec<_> = service.iter().map(HostPattern::exact).collect();
        let services = patterns.iter().filter_map(HostPattern::service_here);
        let relays = services.chain(reach.services_here()).collect();
        proxied(self.settings, AGENT, (Destinations::for_agent(reach, &patterns), relays))
    }

    /// Returns the addresses of an agent program's service: the configured one, or the vendor's hosts,
    /// including those that renew a login.
    fn service_targets(&self, provider: Provider) -> Vec<Target> {
        if let Some(url) = self.base_url(provider) {
            return service_target(&url).into_iter().collect();
        }
        let hosts = service::hosts_of_vendor(provider);
        hosts.iter().filter_map(|host| Target::new(host, "443").ok()).collect()
    }
}

/// Returns the network access of setup commands.
pub(super) fn setup_egress(settings: &Settings) -> EgressPolicy {
    command_egress(settings, SETUP, &settings.run.setup_network.0)
}

/// Returns the network access of commands that a model behind an API runs.
pub(super) fn tool_egress(settings: &Settings) -> EgressPolicy {
    command_egress(settings, COMMANDS, &settings.commands.network.0)
}

/// Returns the network access of checks.
pub(super) fn check_egress(settings: &Settings) -> EgressPolicy {
    command_egress(settings, CHECKS, &settings.validate.network.0)
}

/// Returns the network access of commands, which have no model's service.
fn command_egress(settings: &Settings, setting: ReachSetting, reach: &Reach) -> EgressPolicy {
    match reach {
        Reach::Open => EgressPolicy::Open,
        Reach::Off | Reach::Service => EgressPolicy::Closed,
        reach => {
            let destinations = Destinations::new(reach, &[]);
            proxied(settings, setting, (destinations, reach.services_here()))
        }
    }
}

/// Returns access through a proxy to these hosts, but never to Unstuck's own server.
fn proxied(
    settings: &Settings,
    setting: ReachSetting,
    (destinations, mut relays): (Destinations, Vec<SocketAddr>),
) -> EgressPolicy {
    let own = settings.server.bind;
    let destinations = destinations.never_reaching(vec![own]);
    relays.sort_unstable_by_key(SocketAddr::port);
    relays.dedup_by_key(|service| service.port());
    relays.retain(|service| service.port() != own.port());
    let settings = EgressSettings { destinations, setting, proxies: service::proxies() };
    let loopback = LoopbackWay::Direct;
    EgressPolicy::Proxied(Box::new(ProxiedEgress { settings, relays, loopback }))
}

#[cfg(test)]
mod tests {
    use unstuck_world::egress::Listed;

    use super::*;

    #[test]
    fn checks_reach_nothing_and_setup_the_registries_unless_settings_say_otherwise() {
        let mut settings = Settings::default();
        assert!(matches!(check_egress(&settings), EgressPolicy::Closed));
        assert!(matches!(setup_egress(&settings), EgressPolicy::Proxied(_)));
        settings.validate.network.0 = Reach::Open;
        assert!(matches!(check_egress(&settings), EgressPolicy::Open));
    }

    #[test]
    fn a_service_of_this_machine_that_is_listed_with_its_port_is_reached_on_it() {
        let mut settings = Settings::default();
        let own = settings.server.bind.port();
        let own = format!("127.0.0.1:{own}");
        let listed = ["localhost:5432", "127.0.0.1:5432", "localhost", "example.com:25", &own];
        let listed = listed.map(|host| Listed::Host(HostPattern::parse(host).unwrap()));
        settings.validate.network.0 = Reach::Hosts(listed.into());
        let EgressPolicy::Proxied(reached) = check_egress(&settings) else { panic!("no proxy") };
        assert_eq!(reached.relays, ["127.0.0.1:5432".parse().unwrap()]);
    }
}
