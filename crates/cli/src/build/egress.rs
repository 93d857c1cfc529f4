//! What agents, setup commands and checks reach, as the settings say.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use unstuck_world::egress::{
    Destinations, EgressPolicy, EgressSettings, Host, HostPattern, ProxiedEgress, Reach, Target,
    service_target,
};

use super::agents::Agents;
use super::service;
use crate::settings::{Provider, Settings};

impl Agents<'_> {
    /// What an agent program reaches: its service, and what `agent.network` names. A model behind an
    /// API is called by the supervisor itself.
    pub(super) fn egress(&self, provider: Provider) -> EgressPolicy {
        let reach = &self.settings.agent.network.0;
        if matches!(provider, Provider::AnthropicApi | Provider::OpenAiApi) || *reach == Reach::Open
        {
            return EgressPolicy::Open;
        }
        let service = self.service_targets(provider);
        let patterns: Vec<_> = service.iter().map(HostPattern::exact).collect();
        proxied("agent", Destinations::for_agent(reach, &patterns), service_relays(&service))
    }

    /// Where an agent program finds its service: at the address that is named, or at its vendor's
    /// hosts, those included at which a login is renewed.
    fn service_targets(&self, provider: Provider) -> Vec<Target> {
        if let Some(url) = self.base_url(provider) {
            return service_target(&url).into_iter().collect();
        }
        let hosts = service::hosts_of_vendor(provider);
        hosts.iter().filter_map(|host| Target::new(host, "443").ok()).collect()
    }
}

/// What setup commands reach.
pub(super) fn setup_egress(settings: &Settings) -> EgressPolicy {
    command_egress("run", &settings.run.setup_network.0)
}

/// What checks reach.
pub(super) fn check_egress(settings: &Settings) -> EgressPolicy {
    command_egress("validate", &settings.validate.network.0)
}

/// No model is behind these commands, so that none of them has a service.
fn command_egress(section: &'static str, reach: &Reach) -> EgressPolicy {
    match reach {
        Reach::Open => EgressPolicy::Open,
        Reach::Off | Reach::Service => EgressPolicy::Closed,
        reach => proxied(section, Destinations::new(reach, &[]), Vec::new()),
    }
}

fn proxied(
    section: &'static str,
    destinations: Destinations,
    relays: Vec<SocketAddr>,
) -> EgressPolicy {
    let settings = EgressSettings { destinations, section, proxies: service::proxies() };
    EgressPolicy::Proxied(ProxiedEgress { settings, relays })
}

/// The services that run on this machine itself, which programs reach without a proxy.
fn service_relays(service: &[Target]) -> Vec<SocketAddr> {
    let here = |target: &Target| {
        let address = match &target.host {
            Host::Name(name) if name == "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Host::Address(address) if address.is_loopback() => *address,
            _ => return None,
        };
        Some(SocketAddr::new(address, target.port))
    };
    service.iter().filter_map(here).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_of_this_machine_is_relayed_and_others_are_not() {
        let target = |text: &str| Target::parse(text).unwrap();
        let service =
            [target("localhost:11434"), target("[::1]:80"), target("api.example.com:443")];
        let relays = service_relays(&service);
        assert_eq!(relays, ["127.0.0.1:11434".parse().unwrap(), "[::1]:80".parse().unwrap()]);
    }

    #[test]
    fn checks_reach_nothing_and_setup_the_registries_unless_settings_say_otherwise() {
        let mut settings = Settings::default();
        assert!(matches!(check_egress(&settings), EgressPolicy::Closed));
        assert!(matches!(setup_egress(&settings), EgressPolicy::Proxied(_)));
        settings.validate.network.0 = Reach::Open;
        assert!(matches!(check_egress(&settings), EgressPolicy::Open));
    }
}
