//! The hosts that a program may reach: as settings name them, as one run is held to them, and the
//! addresses that never count as public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::host::{EgressHost, EgressTarget, HostPattern, HostPatternError};
use super::own_servers::{is_own_server, is_served_at};
use super::refusals::RefusalReason;

/// The network reach of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EgressReach {
    /// Only its own network namespace.
    #[default]
    Off,
    /// The model service.
    Service,
    /// The package registries.
    Registries,
    /// The listed hosts.
    Hosts(Vec<ReachEntry>),
    /// The whole network, without a proxy.
    Open,
}

/// The setting that names the hosts, for the line that allows a further one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachSetting {
    /// The heading of its section, such as `[agent]`.
    pub heading: &'static str,
    /// The name of the setting, such as `network`.
    pub name: &'static str,
}

/// An entry of a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReachEntry {
    /// The model service.
    Service,
    /// The package registries.
    Registries,
    /// A host or a pattern of hosts.
    Host(HostPattern),
}

impl EgressReach {
    /// Parses one of the words `off`, `service`, `registries` and `open`.
    pub fn parse_word(word: &str) -> Option<Self> {
        Some(match word {
            "off" => Self::Off,
            "service" => Self::Service,
            "registries" => Self::Registries,
            "open" => Self::Open,
            _ => return None,
        })
    }

    /// Returns the services of this machine that are listed with their ports.
    pub fn local_services(&self) -> Vec<SocketAddr> {
        let Self::Hosts(listed) = self else { return Vec::new() };
        let hosts = listed.iter().filter_map(|listed| match listed {
            ReachEntry::Host(host) => host.local_service(),
            ReachEntry::Service | ReachEntry::Registries => None,
        });
        hosts.collect()
    }

    fn list_entries(&self) -> Vec<String> {
        match self {
            Self::Off | Self::Open => Vec::new(),
            Self::Service => vec![ReachEntry::Service.to_string()],
            Self::Registries => vec![ReachEntry::Registries.to_string()],
            Self::Hosts(listed) => listed.iter().map(ReachEntry::to_string).collect(),
        }
    }
}

impl ReachEntry {
    /// Parses an entry: `service`, `registries`, or a host.
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        match text {
            "service" => Ok(Self::Service),
            "registries" => Ok(Self::Registries),
            text => HostPattern::parse(text).map(Self::Host),
        }
    }
}

impl fmt::Display for ReachEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str("service"),
            Self::Registries => f.write_str("registries"),
            Self::Host(pattern) => write!(f, "{pattern}"),
        }
    }
}

/// The hosts that one run may reach, and the addresses that it never may.
#[derive(Clone, Debug, Default)]
pub struct EgressDestinations {
    reach: EgressReach,
    /// Patterns, and whether their hosts may be in a private network.
    patterns: Vec<(HostPattern, AllowedLocation)>,
    never: Vec<SocketAddr>,
}

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

    /// Returns the lines of the settings that would allow a target in addition.
    pub(super) fn render_allowing_lines(
        &self,
        target: &EgressTarget,
        setting: ReachSetting,
    ) -> String {
        let host = match target.port {
            80 | 443 => target.host.to_string(),
            _ => target.to_string(),
        };
        format!("{}\n{}", setting.heading, self.render_allowing_line(&host, setting))
    }

    /// Returns the line of the settings that would allow a host in addition.
    pub(super) fn render_allowing_line(&self, host: &str, setting: ReachSetting) -> String {
        let entries = self.reach.list_entries().into_iter().chain([host.to_owned()]);
        let quoted: Vec<_> = entries.map(|entry| format!("\"{entry}\"")).collect();
        format!("{} = [{}]", setting.name, quoted.join(", "))
    }

    /// Returns the words for the hosts that an agent program may reach: `the service of your model
    /// and docs.example.com`.
    pub(super) fn describe_for_agent(&self) -> String {
        let mut named = vec!["the service of your model".to_owned()];
        let listed: &[ReachEntry] = match &self.reach {
            EgressReach::Registries => &[ReachEntry::Registries],
            EgressReach::Hosts(listed) => listed,
            EgressReach::Off | EgressReach::Service | EgressReach::Open => &[],
        };
        named.extend(listed.iter().filter_map(|entry| match entry {
            ReachEntry::Service => None,
            ReachEntry::Registries => Some("the package registries".to_owned()),
            ReachEntry::Host(pattern) => Some(pattern.to_string()),
        }));
        match named.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => named.concat(),
        }
    }

    /// Returns whether an address is excluded, or one of Unstuck's own servers listens on it.
    fn is_denied(&self, address: SocketAddr) -> bool {
        self.never.iter().any(|never| is_served_at(*never, address)) || is_own_server(address)
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

/// Returns whether an address belongs to the public internet: not to this machine, its networks, a
/// cloud's metadata service, multicast, or a reserved range.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    match segments {
        // An IPv4 address, for networks that translate.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Protocol assignments and tunnels that carry another address, and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

/// The hosts of `network = "registries"`. Hosts that only take uploads or run accounts are left
/// out, and so is GitHub: an agent could send anything to an account there.
const REGISTRIES: &[&str] = &[
    // Rust.
    "index.crates.io", "static.crates.io", "static.rust-lang.org", // Python.
    "pypi.org", "files.pythonhosted.org", "conda.anaconda.org", "repo.anaconda.com",
    // Node.
    "registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org", // Go.
    "proxy.golang.org", "sum.golang.org", // The JVM.
    "repo.maven.apache.org", "repo1.maven.org", "maven.google.com", "plugins.gradle.org",
    "plugins-artifacts.gradle.org", "services.gradle.org", "downloads.gradle.org",
    // Ruby.
    "rubygems.org", "index.rubygems.org", // .NET.
    "api.nuget.org", "builds.dotnet.microsoft.com", // PHP, Elixir.
    "repo.packagist.org", "repo.hex.pm", // Debian, Ubuntu, Alpine.
    "deb.debian.org", "security.debian.org", "archive.ubuntu.com", "*.archive.ubuntu.com",
    "security.ubuntu.com", "ports.ubuntu.com", "dl-cdn.alpinelinux.org",
];

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

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for public in ["1.1.1.1", "140.82.121.4", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let private = [
            "0.0.0.0", "10.1.2.3", "127.0.0.1", "127.9.9.9", "100.64.0.1", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.168.1.1", "198.18.0.1", "224.0.0.1",
            "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
            "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2002:7f00:1::", "2001:0:7f00:1::",
            "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2001:db8::1", "fec0::1",
        ];
        for private in private {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
