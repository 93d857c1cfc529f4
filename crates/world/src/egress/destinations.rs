//! The hosts that one run may reach.

use std::net::{IpAddr, SocketAddr};

use super::address::is_public;
use super::host::{EgressHost, EgressTarget};
use super::pattern::HostPattern;
use super::reach::{EgressReach, ReachEntry, ReachSetting};
use super::refusals::RefusalReason;
use super::registries::REGISTRIES;

/// The hosts that one run may reach, and the addresses that it never may.
#[derive(Clone, Debug, Default)]
pub struct EgressDestinations {
    reach: EgressReach,
    /// Patterns, and whether their hosts may be in a private network.
    patterns: Vec<(HostPattern, AllowedLocation)>,
    never: Vec<SocketAddr>,
}

/// The permitted location of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedLocation {
    /// On the public internet.
    Public,
    /// Anywhere: the settings name this very host.
    Anywhere,
}

impl EgressDestinations {
    /// Returns the hosts that `reach` stands for, where `service` is the model service.
    pub fn new(reach: &EgressReach, service: &[HostPattern]) -> Self {
        let mut destinations = Self { reach: reach.clone(), ..Self::default() };
        match reach {
            EgressReach::Off | EgressReach::Open => {}
            EgressReach::Service => destinations.add_service(service),
            EgressReach::Registries => destinations.add_registries(),
            EgressReach::Hosts(listed) => {
                for entry in listed {
                    match entry {
                        ReachEntry::Service => destinations.add_service(service),
                        ReachEntry::Registries => destinations.add_registries(),
                        ReachEntry::Host(pattern) => destinations.add_listed(pattern.clone()),
                    }
                }
            }
        }
        destinations
    }

    /// Returns the hosts that an agent program may reach: always its model service, even if the
    /// settings do not list it, since it cannot work without.
    pub fn for_agent(reach: &EgressReach, service: &[HostPattern]) -> Self {
        let mut destinations = Self::new(reach, service);
        destinations.add_service(service);
        destinations
    }

    /// Excludes these addresses in all cases: those of Unstuck's own server.
    #[must_use]
    pub fn with_denied_addresses(mut self, addresses: Vec<SocketAddr>) -> Self {
        self.never = addresses;
        self
    }

    /// Returns the permitted location of a target, or the reason why it is refused. Resolves no
    /// name.
    pub(super) fn judge_target(
        &self,
        target: &EgressTarget,
    ) -> Result<AllowedLocation, RefusalReason> {
        if self.reach == EgressReach::Open {
            return Ok(AllowedLocation::Anywhere);
        }
        let places = self.patterns.iter().filter(|(pattern, _)| pattern.matches(target));
        let mut places = places.map(|(_, place)| *place).peekable();
        if places.peek().is_none() {
            return Err(match target.host {
                EgressHost::Name(_) => RefusalReason::NotListed,
                EgressHost::Address(_) => RefusalReason::Address,
            });
        }
        Ok(if places.any(|place| place == AllowedLocation::Anywhere) {
            AllowedLocation::Anywhere
        } else {
            AllowedLocation::Public
        })
    }

    /// Returns those of the resolved addresses that may be connected to.
    pub(super) fn filter_addresses(
        &self,
        resolved: impl IntoIterator<Item = SocketAddr>,
        place: AllowedLocation,
    ) -> Result<Vec<SocketAddr>, RefusalReason> {
        let mut reason = RefusalReason::Private;
        let admitted = resolved.into_iter().filter(|address| {
            if self.is_denied(*address) {
                reason = RefusalReason::OwnServer;
                return false;
            }
            place == AllowedLocation::Anywhere || is_public(address.ip())
        });
        let admitted: Vec<_> = admitted.collect();
        if admitted.is_empty() { Err(reason) } else { Ok(admitted) }
    }

    /// Returns the lines of the settings that would allow a target.
    pub(super) fn render_allowing_lines(
        &self,
        target: &EgressTarget,
        setting: ReachSetting,
    ) -> String {
        self.reach.render_lines_allowing(target, setting)
    }

    /// Returns whether an address is excluded. A server that listens on every address is reached on
    /// each of this machine's.
    fn is_denied(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        let is_here = |never: IpAddr| {
            never == ip || (never.is_unspecified() && (ip.is_loopback() || ip.is_unspecified()))
        };
        let is_zero = |never: IpAddr| ip.is_unspecified() && never.is_loopback();
        let port = address.port();
        self.never.iter().any(|never| {
            let at = never.ip().to_canonical();
            never.port() == port && (is_here(at) || is_zero(at))
        })
    }

    fn add_service(&mut self, service: &[HostPattern]) {
        self.patterns
            .extend(service.iter().map(|pattern| (pattern.clone(), AllowedLocation::Anywhere)));
    }

    fn add_registries(&mut self) {
        for host in REGISTRIES.iter().filter_map(|host| HostPattern::parse(host).ok()) {
            self.add_listed(host);
        }
    }

    fn add_listed(&mut self, pattern: HostPattern) {
        let place =
            if pattern.is_exact() { AllowedLocation::Anywhere } else { AllowedLocation::Public };
        self.patterns.push((pattern, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> EgressTarget {
        EgressTarget::parse(text).unwrap()
    }

    fn hosts(listed: &[&str]) -> EgressReach {
        EgressReach::Hosts(listed.iter().map(|entry| ReachEntry::parse(entry).unwrap()).collect())
    }

    #[test]
    fn every_registry_is_a_host() {
        for host in REGISTRIES {
            assert!(HostPattern::parse(host).is_ok(), "{host}");
        }
    }

    #[test]
    fn each_word_stands_for_its_hosts() {
        let service = [HostPattern::from_url("https://api.example.com").unwrap()];
        let reaches = |reach: &EgressReach, to: &str| {
            EgressDestinations::new(reach, &service).judge_target(&target(to)).is_ok()
        };
        for (reach, model, registry, other) in [
            (EgressReach::Off, false, false, false),
            (EgressReach::Service, true, false, false),
            (EgressReach::Registries, false, true, false),
            (hosts(&["other.example"]), false, false, true),
            (hosts(&["service", "registries"]), true, true, false),
            (EgressReach::Open, true, true, true),
        ] {
            assert_eq!(reaches(&reach, "api.example.com:443"), model, "{reach:?}");
            assert_eq!(reaches(&reach, "static.crates.io:443"), registry, "{reach:?}");
            assert_eq!(reaches(&reach, "other.example:443"), other, "{reach:?}");
        }
        let agent = EgressDestinations::for_agent(&EgressReach::Registries, &service);
        assert!(agent.judge_target(&target("api.example.com:443")).is_ok());
        assert_eq!(
            agent.judge_target(&target("api.example.com:22")),
            Err(RefusalReason::NotListed)
        );
    }

    #[test]
    fn addresses_are_refused_unless_listed() {
        let listed = EgressDestinations::new(&hosts(&["10.0.0.5", "*.example.com"]), &[]);
        assert_eq!(listed.judge_target(&target("167772165:443")), Ok(AllowedLocation::Anywhere));
        assert_eq!(listed.judge_target(&target("10.0.0.6:443")), Err(RefusalReason::Address));
        assert_eq!(listed.judge_target(&target("[::1]:443")), Err(RefusalReason::Address));
        assert_eq!(listed.judge_target(&target("a.example.com:443")), Ok(AllowedLocation::Public));
    }

    #[test]
    fn a_name_that_leads_inside_is_refused_unless_it_is_listed_itself() {
        let inside: SocketAddr = "127.0.0.1:443".parse().unwrap();
        let outside: SocketAddr = "1.1.1.1:443".parse().unwrap();
        let destinations = EgressDestinations::new(&hosts(&["a.example"]), &[]);
        let admit = |place| destinations.filter_addresses([inside, outside], place);
        assert_eq!(admit(AllowedLocation::Public), Ok(vec![outside]));
        assert_eq!(admit(AllowedLocation::Anywhere), Ok(vec![inside, outside]));
        assert_eq!(
            destinations.filter_addresses([inside], AllowedLocation::Public),
            Err(RefusalReason::Private)
        );
        assert_eq!(
            destinations.filter_addresses([], AllowedLocation::Anywhere),
            Err(RefusalReason::Private)
        );
    }

    #[test]
    fn the_own_server_is_never_reached() {
        let server = "127.0.0.1:7878".parse().unwrap();
        let everywhere = "0.0.0.0:7879".parse().unwrap();
        let destinations = EgressDestinations::new(&hosts(&["localhost:*"]), &[])
            .with_denied_addresses(vec![server, everywhere]);
        for address in ["127.0.0.1:7878", "[::ffff:127.0.0.1]:7878", "0.0.0.0:7878", "[::1]:7879"] {
            let refused = destinations
                .filter_addresses([address.parse().unwrap()], AllowedLocation::Anywhere);
            assert_eq!(refused, Err(RefusalReason::OwnServer), "{address}");
        }
    }
}
