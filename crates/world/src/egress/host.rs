//! Host names and addresses as clients write them, parsed unambiguously or not at all.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "0x7F.0x0.0x0.0x1",
            "017700000001",
            "127.0.0.1.",
            "[::ffff:127.0.0.1]",
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
}
