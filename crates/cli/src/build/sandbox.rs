//! The sandboxes of agents, commands, setup, checks and hooks, from the settings: their network access and
//! the files they may use.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use unstuck_world::commands::{CommandRules, NetworkIsolation};
use unstuck_world::egress::{
    EgressDestinations, EgressPolicy, EgressReach, EgressSettings, EgressTarget, HostPattern,
    LoopbackRoute, ProxiedEgress, ReachSetting, parse_service_target,
};
use unstuck_world::process::{PrivateFolder, ResourceLimits, Wall, find_memory_size};

use super::provider::{WorkerFactory, environment_proxies, vendor_hosts};
use crate::settings::{NetworkReach, Provider, Settings, WallSettings};

const AGENT: ReachSetting = ReachSetting { heading: "[agent]", name: "network" };
const COMMANDS: ReachSetting = ReachSetting { heading: "[commands]", name: "network" };
const SETUP: ReachSetting = ReachSetting { heading: "[run]", name: "setup_network" };
const CHECKS: ReachSetting = ReachSetting { heading: "[validate]", name: "network" };

/// Bytes per megabyte of the settings.
const MEGABYTE: u64 = 1 << 20;

/// Determines the network access of a model's commands on this machine, from `commands.network`.
pub(crate) async fn command_network(reach: &NetworkReach) -> NetworkIsolation {
    let rules = CommandRules { network: reach.is_open(), ..CommandRules::default() };
    NetworkIsolation::for_rules(&rules).await
}

impl WorkerFactory<'_> {
    /// Returns the network access of an agent program: its service, and the hosts in `agent.network`. A
    /// model behind an API is called by the supervisor itself.
    pub(super) fn agent_egress(&self, provider: Provider) -> EgressPolicy {
        let reach = &self.settings.agent.network.0;
        if matches!(provider, Provider::AnthropicApi | Provider::OpenAiApi)
            || *reach == EgressReach::Open
        {
            return EgressPolicy::Open;
        }
        let service = self.service_targets(provider);
        let patterns: Vec<_> = service.iter().map(HostPattern::from_target).collect();
        let services = patterns.iter().filter_map(HostPattern::local_service);
        let relays = services.chain(reach.local_services()).collect();
        proxied_egress(
            self.settings,
            AGENT,
            (EgressDestinations::for_agent(reach, &patterns), relays),
        )
    }

    /// Returns the addresses of an agent program's service: the configured one, or the vendor's hosts,
    /// including those that renew a login.
    fn service_targets(&self, provider: Provider) -> Vec<EgressTarget> {
        if let Some(url) = self.base_url(provider) {
            return parse_service_target(&url).into_iter().collect();
        }
        let hosts = vendor_hosts(provider);
        hosts.iter().filter_map(|host| EgressTarget::new(host, "443").ok()).collect()
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

pub(super) fn check_egress(settings: &Settings) -> EgressPolicy {
    command_egress(settings, CHECKS, &settings.validate.network.0)
}

/// Returns the network access of commands, which have no model's service.
fn command_egress(settings: &Settings, setting: ReachSetting, reach: &EgressReach) -> EgressPolicy {
    match reach {
        EgressReach::Open => EgressPolicy::Open,
        EgressReach::Off | EgressReach::Service => EgressPolicy::Closed,
        reach => {
            let destinations = EgressDestinations::new(reach, &[]);
            proxied_egress(settings, setting, (destinations, reach.local_services()))
        }
    }
}

/// Returns access through a proxy to these hosts, but never to Unstuck's own server.
fn proxied_egress(
    settings: &Settings,
    setting: ReachSetting,
    (destinations, mut relays): (EgressDestinations, Vec<SocketAddr>),
) -> EgressPolicy {
    let own = settings.server.bind;
    let destinations = destinations.with_denied_addresses(vec![own]);
    relays.sort_unstable_by_key(SocketAddr::port);
    relays.dedup_by_key(|service| service.port());
    relays.retain(|service| service.port() != own.port());
    let settings = EgressSettings { destinations, setting, proxies: environment_proxies() };
    let loopback = LoopbackRoute::Direct;
    EgressPolicy::Proxied(Box::new(ProxiedEgress { settings, relays, loopback }))
}

/// Returns the sandbox rules of the settings, for the project at `root`.
pub(crate) fn wall_rules(settings: &Settings, root: &Path) -> Wall {
    let WallSettings { writable, readable, private, hidden, processes, memory_mb, file_mb, .. } =
        &settings.wall;
    let paths = |texts: &[String]| -> Vec<PathBuf> {
        texts.iter().map(|text| expand_path(text, root)).collect()
    };
    Wall {
        writable: Some(paths(writable)),
        readable: paths(readable),
        hidden: paths(hidden),
        private: paths(private).into_iter().map(PrivateFolder::in_private_home).collect(),
        limits: ResourceLimits {
            processes: Some(*processes),
            memory_bytes: memory_mb
                .map(|megabytes| megabytes.saturating_mul(MEGABYTE))
                .or_else(usual_memory_limit),
            file_bytes: Some(file_mb.saturating_mul(MEGABYTE)),
            disk_free_bytes_min: Some(settings.run.disk_free_mb.saturating_mul(MEGABYTE) / 2),
        },
        ..Wall::default()
    }
}

/// Returns three quarters of the machine's memory in bytes: the rest is for Unstuck and the operator.
fn usual_memory_limit() -> Option<u64> {
    find_memory_size().map(|memory| memory / 4 * 3)
}

/// Expands a path of the settings: `~` is the home folder, and a relative path begins at the root.
fn expand_path(text: &str, root: &Path) -> PathBuf {
    let path = Path::new(text);
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => root.join(path),
    }
}

#[cfg(test)]
mod tests {
    use unstuck_world::egress::ReachEntry;

    use super::*;

    #[test]
    fn checks_reach_nothing_and_setup_the_registries_unless_settings_say_otherwise() {
        let mut settings = Settings::default();
        assert!(matches!(check_egress(&settings), EgressPolicy::Closed));
        assert!(matches!(setup_egress(&settings), EgressPolicy::Proxied(_)));
        settings.validate.network.0 = EgressReach::Open;
        assert!(matches!(check_egress(&settings), EgressPolicy::Open));
    }

    #[test]
    fn a_service_of_this_machine_that_is_listed_with_its_port_is_reached_on_it() {
        let mut settings = Settings::default();
        let own = settings.server.bind.port();
        let own = format!("127.0.0.1:{own}");
        let listed = ["localhost:5432", "127.0.0.1:5432", "localhost", "example.com:25", &own];
        let listed = listed.map(|host| ReachEntry::Host(HostPattern::parse(host).unwrap()));
        settings.validate.network.0 = EgressReach::Hosts(listed.into());
        let EgressPolicy::Proxied(reached) = check_egress(&settings) else { panic!("no proxy") };
        assert_eq!(reached.relays, ["127.0.0.1:5432".parse().unwrap()]);
    }

    #[test]
    fn memory_and_files_are_limited_unless_settings_say_otherwise() {
        let mut settings = Settings::default();
        let usual = wall_rules(&settings, Path::new("/p")).limits;
        let memory = find_memory_size().unwrap();
        assert!(usual.memory_bytes.is_some_and(|limit| memory / 2 < limit && limit < memory));
        assert_eq!(usual.file_bytes, Some(32 << 30));
        assert_eq!(usual.disk_free_bytes_min, Some(512 << 20));
        settings.wall.memory_mb = Some(100);
        settings.wall.file_mb = 1;
        settings.run.disk_free_mb = 0;
        let limits = wall_rules(&settings, Path::new("/p")).limits;
        assert_eq!((limits.memory_bytes, limits.file_bytes), (Some(100 << 20), Some(1 << 20)));
        assert_eq!(limits.disk_free_bytes_min, Some(0), "nothing is asked for");
    }

    #[test]
    fn paths_begin_at_the_root_or_in_the_home_folder() {
        let root = Path::new("/p");
        assert_eq!(expand_path("cache", root), Path::new("/p/cache"));
        assert_eq!(expand_path("/var/cache", root), Path::new("/var/cache"));
        let home = std::env::home_dir().unwrap();
        assert_eq!(expand_path("~/.m2/repository", root), home.join(".m2/repository"));
    }
}
