//! The hosts that one run may reach.

use std::net::{IpAddr, SocketAddr};

use super::address::is_public;
use super::host::{Host, Target};
use super::pattern::HostPattern;
use super::reach::{Listed, Reach, ReachSetting};
use super::refusals::RefusalReason;
use super::registries::REGISTRIES;

/// The hosts that one run may reach, and the addresses that it never may.
#[derive(Clone, Debug, Default)]
pub struct Destinations {
    reach: Reach,
    /// Patterns, and whether their hosts may be in a private network.
    patterns: Vec<(HostPattern, Place)>,
    never: Vec<SocketAddr>,
}

/// The permitted location of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the public internet.
    Public,
    /// Anywhere: the settings name this very host.
    Anywhere,
}

impl Destinations {
    /// Returns the hosts that `reach` stands for, where `service` is the model service.
    pub fn new(reach: &Reach, service: &[HostPattern]) -> Self {
        let mut destinations = Self { reach: reach.clone(), ..Self::default() };
        match reach {
            Reach::Off | Reach::Open => {}
            Reach::Service => destinations.add_service(service),
            Reach::Registries => destinations.add_registries(),
            Reach::Hosts(listed) => {
                for entry in listed {
                    match entry {
                        Listed::Service => destinations.add_service(service),
                        Listed::Registries => destinations.add_registries(),
                        Listed::Host(pattern) => destinations.add_listed(pattern.clone()),
                    }
                }
            }
        }
        destinations
    }

    /// Returns the hosts that an agent program may reach: always its model service, even if the
    /// settings do not list it, since it cannot work without.
    pub fn for_agent(reach: &Reach, service: &[HostPattern]) -> Self {
        let mut destinations = Self::new(reach, service);
        destinations.add_service(service);
        destinations
    }

    /// Excludes these addresses in all cases: those of Unstuck's own server.
    #[must_use]
    pub fn never_reaching(mut self, addresses: Vec<SocketAddr>) -> Self {
        self.never = addresses;
        self
    }

    /// Returns the permitted location of a target, or the reason why it is refused. Resolves no
    /// name.
    pub(super) fn judge(&self, target: &Target) -> Result<Place, RefusalReason> {
        if self.reach == Reach::Open {
            return Ok(Place::Anywhere);
        }
        let places = self.patterns.iter().filter(|(pattern, _)| pattern.matches(target));
        let mut places = places.map(|(_, place)| *place).peekable();
        if places.peek().is_none() {
            return Err(match target.host {
                Host::Name(_) => RefusalReason::NotListed,
                Host::Address(_) => RefusalReason::Address,
            });
        }
        Ok(if places.any(|place| place == Place::Anywhere) {
            Place::Anywhere
        } else {
            Place::Public
        })
    }

    /// Returns those of the resolved addresses that may be connected to.
    pub(super) fn admit(
        &self,
        resolved: impl IntoIterator<Item = SocketAddr>,
        place: Place,
    ) -> Result<Vec<SocketAddr>, RefusalReason> {
        let mut reason = RefusalReason::Private;
        let admitted = resolved.into_iter().filter(|address| {
            if self.is_never(*address) {
                reason = RefusalReason::OwnServer;
                return false;
            }
            place == Place::Anywhere || is_public(address.ip())
        });
        let admitted: Vec<_> = admitted.collect();
        if admitted.is_empty() { Err(reason) } else { Ok(admitted) }
    }

    /// Returns the lines of the settings that would allow a target.
    pub(super) fn lines_allowing(&self, target: &Target, setting: ReachSetting) -> String {
        self.reach.to_lines_with(target, setting)
    }

    /// Returns whether an address is excluded. A server that listens on every address is reached on
    /// each of this machine's.
    fn is_never(&self, address: SocketAddr) -> bool {
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
        self.patterns.extend(service.iter().map(|pattern| (pattern.clone(), Place::Anywhere)));
    }

    fn add_registries(&mut self) {
        for host in REGISTRIES.iter().filter_map(|host| HostPattern::parse(host).ok()) {
            self.add_listed(host);
        }
    }

    fn add_listed(&mut self, pattern: HostPattern) {
        let place = if pattern.is_exact() { Place::Anywhere } else { Place::Public };
        self.patterns.push((pattern, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        Target::parse(text).unwrap()
    }

    fn hosts(listed: &[&str]) -> Reach {
        Reach::Hosts(listed.iter().map(|entry| Listed::parse(entry).unwrap()).collect())
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
        let reaches =
            |reach: &Reach, to: &str| Destinations::new(reach, &service).judge(&target(to)).is_ok();
        for (reach, model, registry, other) in [
            (Reach::Off, false, false, false),
            (Reach::Service, true, false, false),
            (Reach::Registries, false, true, false),
            (hosts(&["other.example"]), false, false, true),
            (hosts(&["service", "registries"]), true, true, false),
            (Reach::Open, true, true, true),
        ] {
            assert_eq!(reaches(&reach, "api.example.com:443"), model, "{reach:?}");
            assert_eq!(reaches(&reach, "static.crates.io:443"), registry, "{reach:?}");
            assert_eq!(reaches(&reach, "other.example:443"), other, "{reach:?}");
        }
        let agent = Destinations::for_agent(&Reach::Registries, &service);
        assert!(agent.judge(&target("api.example.com:443")).is_ok());
        assert_eq!(agent.judge(&target("api.example.com:22")), Err(RefusalReason::NotListed));
    }

    #[test]
    fn addresses_are_refused_unless_listed() {
        let listed = Destinations::new(&hosts(&["10.0.0.5", "*.example.com"]), &[]);
        assert_eq!(listed.judge(&target("167772165:443")), Ok(Place::Anywhere));
        assert_eq!(listed.judge(&target("10.0.0.6:443")), Err(RefusalReason::Address));
        assert_eq!(listed.judge(&target("[::1]:443")), Err(RefusalReason::Address));
        assert_eq!(listed.judge(&target("a.example.com:443")), Ok(Place::Public));
    }

    #[test]
    fn a_name_that_leads_inside_is_refused_unless_it_is_listed_itself() {
        let inside: SocketAddr = "127.0.0.1:443".parse().unwrap();
        let outside: SocketAddr = "1.1.1.1:443".parse().unwrap();
        let destinations = Destinations::new(&hosts(&["a.example"]), &[]);
        let admit = |place| destinations.admit([inside, outside], place);
        assert_eq!(admit(Place::Public), Ok(vec![outside]));
        assert_eq!(admit(Place::Anywhere), Ok(vec![inside, outside]));
        assert_eq!(destinations.admit([inside], Place::Public), Err(RefusalReason::Private));
        assert_eq!(destinations.admit([], Place::Anywhere), Err(RefusalReason::Private));
    }

    #[test]
    fn the_own_server_is_never_reached() {
        let server = "127.0.0.1:7878".parse().unwrap();
        let everywhere = "0.0.0.0:7879".parse().unwrap();
        let destinations = Destinations::new(&hosts(&["localhost:*"]), &[])
            .never_reaching(vec![server, everywhere]);
        for address in ["127.0.0.1:7878", "[::ffff:127.0.0.1]:7878", "0.0.0.0:7878", "[::1]:7879"] {
            let refused = destinations.admit([address.parse().unwrap()], Place::Anywhere);
            assert_eq!(refused, Err(RefusalReason::OwnServer), "{address}");
        }
    }
}
