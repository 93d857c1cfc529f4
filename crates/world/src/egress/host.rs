//! Host names and addresses as clients write them, parsed unambiguously or not at all, and the
//! patterns of hosts that settings name.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Maximum length of a DNS name, in bytes.
const NAME_BYTES_MAX: usize = 253;
/// Maximum length of a part between two dots, in bytes.
const LABEL_BYTES_MAX: usize = 63;

/// A host in canonical form: names in lower case without a final dot, addresses as numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EgressHost {
    /// A name that has to be resolved.
    Name(String),
    /// An address, in whichever spelling it was written.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EgressTarget {
    /// The host, in canonical form.
    pub host: EgressHost,
    /// The TCP port.
    pub port: u16,
}

/// The error for a text that is no host, or one that different programs would parse differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// The text is empty.
    #[error("the host is missing")]
    Empty,
    /// The text has characters or parts that names do not have.
    #[error("it is not a host name")]
    Malformed,
    /// The text ends like an address and is none.
    #[error("it is not an address")]
    Address,
    /// The port is missing or invalid.
    #[error("the port is missing or not a number from 1 to 65535")]
    Port,
}

impl EgressHost {
    /// Parses a host: a name, an IPv4 address in any spelling that resolvers accept, or an IPv6
    /// address with or without brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostError::Malformed)?;
            return parse_ipv6(inner);
        }
        if text.contains(':') {
            return parse_ipv6(text);
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        let name = text.to_ascii_lowercase();
        let is_label = |label: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            !label.is_empty() && label.len() <= LABEL_BYTES_MAX && label.bytes().all(known)
        };
        if name.len() > NAME_BYTES_MAX || !name.split('.').all(is_label) {
            return Err(HostError::Malformed);
        }
        if !ends_in_number(&name) {
            return Ok(Self::Name(name));
        }
        parse_ipv4(&name).map(|address| Self::Address(address.into())).ok_or(HostError::Address)
    }
}

impl EgressTarget {
    /// Parses `host:port`, as in a CONNECT request.
    pub fn parse(authority: &str) -> Result<Self, HostError> {
        let (host, port) = authority.rsplit_once(':').ok_or(HostError::Port)?;
        // Without brackets the last part of an IPv6 address looks like a port.
        if host.contains(':') && !host.starts_with('[') {
            return Err(HostError::Malformed);
        }
        Self::new(host, port)
    }

    /// Parses a host and a port.
    pub fn new(host: &str, port: &str) -> Result<Self, HostError> {
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port: u16 = port.parse().ok().filter(|_| is_number).ok_or(HostError::Port)?;
        if port == 0 {
            return Err(HostError::Port);
        }
        Ok(Self { host: EgressHost::parse(host)?, port })
    }
}

impl fmt::Display for EgressHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for EgressTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn parse_ipv6(text: &str) -> Result<EgressHost, HostError> {
    let address: Ipv6Addr = text.parse().map_err(|_| HostError::Address)?;
    Ok(EgressHost::Address(IpAddr::V6(address).to_canonical()))
}

/// Returns whether resolvers take a name for an address: its last part is a number.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    last.bytes().all(|byte| byte.is_ascii_digit()) || last.strip_prefix("0x").is_some_and(is_hex)
}

/// Parses an IPv4 address as `inet_aton` does: one to four numbers, each decimal, octal or
/// hexadecimal, where the last stands for all remaining bytes.
fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u32> = text.split('.').map(parse_number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let left = 4_usize.checked_sub(first.len())?;
    let mut address: u32 = 0;
    for (at, number) in first.iter().enumerate() {
        let byte = u8::try_from(*number).ok()?;
        address |= u32::from(byte) << (24 - 8 * at);
    }
    if left == 0 || (left < 4 && *last >> (8 * left) != 0) {
        return None;
    }
    Some(Ipv4Addr::from(address | last))
}

fn parse_number(text: &str) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return if digits.is_empty() { Some(0) } else { u32::from_str_radix(digits, 16).ok() };
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u32::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// The ports of a host that is listed without one.
const WEB_PORTS: [u16; 2] = [80, 443];

/// A host that may be reached: `example.com`, `*.example.com` for every name below it, an address;
/// each with a port (`example.com:8443`) or every port (`example.com:*`). Without one, 80 and 443;
/// of this machine (`localhost`, `127.0.0.1`), whose services seldom have these two, every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: HostMatch,
    ports: PortMatch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostMatch {
    Exact(EgressHost),
    /// Every name that ends with a dot and this.
    Below(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortMatch {
    Web,
    One(u16),
    Every,
}

/// The error for a text that names no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostPatternError {
    /// A URL instead of a host.
    #[error("write the host alone, without a scheme and a path")]
    Url,
    /// A star that matches too much, or is not at the beginning.
    #[error("a star stands for the beginning of a name with two more parts, such as *.example.com")]
    Star,
    /// An invalid host.
    #[error("{0}")]
    Host(#[from] HostError),
}

impl HostPattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        if text.contains('/') {
            return Err(HostPatternError::Url);
        }
        let (host, ports) = split_port(text)?;
        let host = match host.strip_prefix("*.") {
            None if host.contains('*') => return Err(HostPatternError::Star),
            None => HostMatch::Exact(EgressHost::parse(host)?),
            Some(below) => match EgressHost::parse(below) {
                Ok(EgressHost::Name(name)) if name.contains('.') => HostMatch::Below(name),
                _ => return Err(HostPatternError::Star),
            },
        };
        Ok(Self { host, ports })
    }

    /// Returns the pattern of exactly one host and port.
    pub fn from_target(target: &EgressTarget) -> Self {
        Self { host: HostMatch::Exact(target.host.clone()), ports: PortMatch::One(target.port) }
    }

    /// Returns the pattern of the host and port of a service's URL, such as
    /// `https://api.example.com/v1`.
    pub fn from_url(url: &str) -> Option<Self> {
        parse_service_target(url).as_ref().map(Self::from_target)
    }

    /// Returns whether the pattern matches a target.
    pub fn matches(&self, target: &EgressTarget) -> bool {
        let is_port = match self.ports {
            PortMatch::Web => WEB_PORTS.contains(&target.port) || self.loopback_address().is_some(),
            PortMatch::One(port) => port == target.port,
            PortMatch::Every => true,
        };
        is_port
            && match (&self.host, &target.host) {
                (HostMatch::Exact(host), asked) => host == asked,
                (HostMatch::Below(name), EgressHost::Name(asked)) => {
                    asked.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'))
                }
                (HostMatch::Below(_), EgressHost::Address(_)) => false,
            }
    }

    /// Returns the one service of this machine that the pattern names, which programs reach without
    /// a proxy.
    pub fn local_service(&self) -> Option<SocketAddr> {
        let PortMatch::One(port) = self.ports else { return None };
        self.loopback_address().map(|address| SocketAddr::new(address, port))
    }

    /// Returns whether the pattern names this machine with every port. The service that a program
    /// wants is then not known before it asks for one.
    pub fn is_all_of_this_machine(&self) -> bool {
        self.loopback_address().is_some() && !matches!(self.ports, PortMatch::One(_))
    }

    /// Returns the loopback address that the pattern names, if any.
    fn loopback_address(&self) -> Option<IpAddr> {
        match &self.host {
            HostMatch::Exact(EgressHost::Name(name)) if name == "localhost" => {
                Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
            }
            HostMatch::Exact(EgressHost::Address(address)) if address.is_loopback() => {
                Some(*address)
            }
            _ => None,
        }
    }

    /// Returns whether the pattern names one host, so that the operator knows its location.
    pub(super) const fn is_exact(&self) -> bool {
        matches!(self.host, HostMatch::Exact(_))
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostMatch::Exact(host) => write!(f, "{host}")?,
            HostMatch::Below(name) => write!(f, "*.{name}")?,
        }
        match self.ports {
            PortMatch::Web => Ok(()),
            PortMatch::One(port) => write!(f, ":{port}"),
            PortMatch::Every => f.write_str(":*"),
        }
    }
}

impl Serialize for HostPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
    }
}

/// Returns the host and port of a URL such as `http://127.0.0.1:11434/v1`; `None` for a URL that
/// programs may parse in two ways.
pub fn parse_service_target(url: &str) -> Option<EgressTarget> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, usual),
    };
    EgressTarget::new(host, port).ok()
}

fn split_port(text: &str) -> Result<(&str, PortMatch), HostPatternError> {
    let is_bare_ipv6 = !text.starts_with('[') && text.matches(':').count() > 1;
    match text.rsplit_once(':') {
        Some((host, port)) if !is_bare_ipv6 && !port.ends_with(']') => {
            let ports = match port {
                "*" => PortMatch::Every,
                port => {
                    let port: u16 = port.parse().map_err(|_| HostError::Port)?;
                    if port == 0 {
                        return Err(HostError::Port.into());
                    }
                    PortMatch::One(port)
                }
            };
            Ok((host, ports))
        }
        _ => Ok((text, PortMatch::Web)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_have_one_spelling() {
        for text in ["Evil.Example", "evil.example.", "EVIL.EXAMPLE."] {
            assert_eq!(
                EgressHost::parse(text),
                Ok(EgressHost::Name("evil.example".to_owned())),
                "{text}"
            );
        }
        for text in ["", ".", "a..b", ".a", "a b", "a\u{e9}.example", "a%2e.example", "a/b", "a@b"]
        {
            assert!(EgressHost::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_is_an_address_however_it_is_spelt() {
        let spelt = [
            "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
            "0x7F.0x0.0x0.0x1", "017700000001", "127.0.0.1.", "[::ffff:127.0.0.1]",
            "::ffff:7f00:1",
        ];
        for text in spelt {
            let parsed = EgressHost::parse(text);
            assert_eq!(parsed, Ok(EgressHost::Address(IpAddr::V4(Ipv4Addr::LOCALHOST))), "{text}");
        }
        assert_eq!(
            EgressHost::parse("[::1]"),
            Ok(EgressHost::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)))
        );
        for text in
            ["127.0.0.256", "1.2.3.4.5", "4294967296", "08.1", "[::1", "fe80::1%eth0", "a.1"]
        {
            assert!(EgressHost::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_target_has_a_port() {
        let target = EgressTarget::parse("Example.org:443").unwrap();
        assert_eq!(target.to_string(), "example.org:443");
        assert_eq!(EgressTarget::parse("[::1]:80").unwrap().to_string(), "[::1]:80");
        for text in ["example.org", "example.org:", "example.org:0", "a:65536", "a:+1", "::1:80"] {
            assert!(EgressTarget::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_read_the_same_again(text in "[a-zA-Z0-9.:\\[\\]x_-]{0,40}") {
            if let Ok(host) = EgressHost::parse(&text) {
                prop_assert_eq!(EgressHost::parse(&host.to_string()), Ok(host));
            }
        }
    }

    fn matches(pattern: &str, target: &str) -> bool {
        HostPattern::parse(pattern).unwrap().matches(&EgressTarget::parse(target).unwrap())
    }

    #[test]
    fn a_pattern_stands_for_its_hosts_and_no_others() {
        assert!(matches("example.com", "example.com:443"));
        assert!(matches("Example.com.", "EXAMPLE.com:80"));
        assert!(!matches("example.com", "example.com:22"));
        assert!(!matches("example.com", "a.example.com:443"));
        assert!(!matches("example.com", "example.com.evil.org:443"));
        assert!(matches("*.example.com", "a.b.example.com:443"));
        assert!(!matches("*.example.com", "example.com:443"));
        assert!(!matches("*.example.com", "evilexample.com:443"));
        assert!(matches("example.com:8443", "example.com:8443"));
        assert!(!matches("example.com:8443", "example.com:443"));
        assert!(matches("example.com:*", "example.com:22"));
        assert!(matches("10.0.0.5", "10.5:443"));
        assert!(matches("[::1]:8080", "[::1]:8080"));
        assert!(matches("::1", "[::1]:80"));
        assert!(matches("localhost", "localhost:3000") && matches("127.0.0.1", "127.0.0.1:3000"));
        assert!(!matches("10.0.0.5", "10.0.0.5:3000"));
    }

    #[test]
    fn what_stands_for_too_much_is_refused() {
        for text in ["*", "*.com", "a*.example.com", "*.*.example.com", "https://example.com", ""] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
        for text in ["a:0", "a:", "a:x", "a b", "example.com/x", "*.10.0.0.1"] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_written_as_it_was_meant() {
        for text in ["example.com", "*.example.com:*", "example.com:8443", "[::1]:80", "10.0.0.5"] {
            assert_eq!(HostPattern::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_service_of_this_machine_is_one_host_and_one_port() {
        let here = |text| HostPattern::parse(text).unwrap().local_service();
        assert_eq!(here("localhost:11434"), Some("127.0.0.1:11434".parse().unwrap()));
        assert_eq!(here("[::1]:80"), Some("[::1]:80".parse().unwrap()));
        for text in ["api.example.com:443", "127.0.0.1", "127.0.0.1:*", "10.0.0.5:80"] {
            assert_eq!(here(text), None, "{text}");
        }
    }

    #[test]
    fn the_host_of_a_service_is_read_in_one_way_or_not_at_all() {
        let read = |url| parse_service_target(url).map(|target| target.to_string());
        assert_eq!(read("https://api.example.com/v1"), Some("api.example.com:443".to_owned()));
        assert_eq!(read("http://127.0.0.1:11434"), Some("127.0.0.1:11434".to_owned()));
        assert_eq!(read("http://[::1]:80/v1"), Some("[::1]:80".to_owned()));
        assert_eq!(read("HTTP://[::1]"), Some("[::1]:80".to_owned()));
        for url in ["ftp://a", "a", "https://", "https://a@b", "https://a\\@b", "https://a%2eb"] {
            assert_eq!(read(url), None, "{url}");
        }
    }
}
