//! Recognizes addresses of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address belongs to the public internet: not to this machine, its networks, a
/// cloud's metadata service, multicast, or a reserved range.
pub(super) fn is_public(address: IpAddr) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for public in ["1.1.1.1", "140.82.121.4", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let private = [
            "0.0.0.0",
            "10.1.2.3",
            "127.0.0.1",
            "127.9.9.9",
            "100.64.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2001:db8::1",
            "fec0::1",
        ];
        for private in private {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
