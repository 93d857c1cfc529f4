//! The host names of this server, and the origins of its own pages.
//!
//! A page elsewhere can point its own name at this machine and then use this server as if it were
//! its own (DNS rebinding); so a request has to name a host of this server. And a page elsewhere
//! can make the browser send a form here (CSRF); so a request that changes state has to come from a
//! page of this server, or from no page at all.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};

use crate::problem::Problem;

/// The header in which a browser states the origin of a request. Pages cannot set it.
const FETCH_SITE: &str = "sec-fetch-site";

/// The host names of a server.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    bind: IpAddr,
    public: Vec<RequestAuthority>,
}

/// The error for a text that is no host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name of a server: write a host such as inbox.example.org")]
pub struct InvalidPublicHost(pub String);

/// A host, with its port if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RequestAuthority {
    host: RequestHostName,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestHostName {
    Address(IpAddr),
    Name(String),
}

struct PageOrigin {
    place: RequestAuthority,
    https: bool,
}

impl AllowedHosts {
    /// Returns the names of a server that listens at this address and has these public names. A
    /// public name may be a URL: `https://inbox.example.org`.
    pub fn new<'a>(
        bind: SocketAddr,
        public: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidPublicHost> {
        let place = |name: &'a str| {
            let bare = name.split_once("://").map_or(name, |(_, rest)| rest);
            RequestAuthority::parse_authority(bare.trim_end_matches('/'))
                .ok_or_else(|| InvalidPublicHost(name.to_owned()))
        };
        let public = public.into_iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { bind: bind.ip(), public })
    }

    /// Checks that a request names a host of this server.
    pub(super) fn check_host(&self, parts: &Parts) -> Result<(), Problem> {
        let mut places = request_hosts(parts).peekable();
        let ours = |place: Option<RequestAuthority>| {
            place.is_some_and(|place| self.is_own_host(&place.host))
        };
        if places.peek().is_some() && places.all(ours) {
            return Ok(());
        }
        let detail = "this server is not known under the name that it was called by";
        let hint = "call it by its address or by localhost; other names have to be set as the \
                    public address of the server";
        Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail).with_hint(hint))
    }

    /// Checks that a request which changes state comes from a page of this server or from no page.
    pub(super) fn check_origin(&self, parts: &Parts, secure: bool) -> Result<(), Problem> {
        let site = header_text(&parts.headers, FETCH_SITE);
        let origin = parts.headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
        let from_here = match (site, origin) {
            (Some(site), _) if site != "same-origin" && site != "none" => false,
            // The browser states the origin, and some hide the name of the page.
            (Some(_), Some("null")) | (_, None) => true,
            (_, Some(origin)) => self.is_own_origin(origin, parts, secure),
        };
        if from_here {
            return Ok(());
        }
        let detail = "this was sent from a page of another site";
        let hint = "open the page of this server and do it there; programs leave Origin out";
        Err(Problem::new(StatusCode::FORBIDDEN, detail).with_hint(hint))
    }

    fn is_own_host(&self, host: &RequestHostName) -> bool {
        let public = self.public.iter().any(|place| place.host == *host);
        public
            || match host {
                // An address cannot be pointed elsewhere.
                RequestHostName::Address(address) => {
                    address.is_loopback()
                        || *address == self.bind.to_canonical()
                        || self.bind.is_unspecified()
                }
                RequestHostName::Name(name) => name == "localhost",
            }
    }

    /// Returns whether an origin is this very server: another port is another server.
    fn is_own_origin(&self, origin: &str, parts: &Parts, secure: bool) -> bool {
        let Some(PageOrigin { place, https }) = PageOrigin::parse_origin(origin) else {
            return false;
        };
        if secure && !https {
            return false;
        }
        let port = |place: &RequestAuthority| place.port.unwrap_or(if https { 443 } else { 80 });
        let same =
            |other: &RequestAuthority| other.host == place.host && port(other) == port(&place);
        self.public.iter().any(same) || request_hosts(parts).flatten().any(|named| same(&named))
    }
}

impl RequestAuthority {
    fn parse_authority(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        if authority.as_str().contains('@') {
            return None;
        }
        let host = authority.host();
        let rest = &authority.as_str()[host.len()..];
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(port.parse().ok()?),
            None => rest.is_empty().then_some(None)?,
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let address = bare.unwrap_or(host).parse::<IpAddr>();
        let host = match address {
            Ok(address) => RequestHostName::Address(address.to_canonical()),
            Err(_) => {
                RequestHostName::Name(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase())
            }
        };
        (host != RequestHostName::Name(String::new())).then_some(Self { host, port })
    }
}

impl PageOrigin {
    fn parse_origin(text: &str) -> Option<Self> {
        let (scheme, place) = text.split_once("://")?;
        let https = match scheme {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Some(Self { place: RequestAuthority::parse_authority(place)?, https })
    }
}

/// Returns every host that a request names; `None` for one that cannot be parsed, which is not this
/// server's.
fn request_hosts(parts: &Parts) -> impl Iterator<Item = Option<RequestAuthority>> {
    let read = |text: &str| RequestAuthority::parse_authority(text);
    let line = parts.uri.authority().map(|authority| read(authority.as_str()));
    let hosts = parts.headers.get_all(HOST).into_iter();
    line.into_iter().chain(hosts.map(move |host| host.to_str().ok().and_then(read)))
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use proptest::prelude::*;

    use super::*;

    fn names(bind: &str, public: &[&str]) -> AllowedHosts {
        AllowedHosts::new(bind.parse().unwrap(), public.iter().copied()).unwrap()
    }

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::post(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn it_answers_to_its_own_names_only() {
        let local = names("127.0.0.1:7077", &[]);
        let lan = names("192.168.1.5:7077", &["https://inbox.example.org/"]);
        let any = names("0.0.0.0:7077", &["inbox.example.org:8443"]);
        // The host, and whether a local, a bound and an open server respond to it.
        let cases = [
            ("127.0.0.1:7077", [true, true, true]),
            ("localhost:7077", [true, true, true]),
            ("LocalHost", [true, true, true]),
            ("localhost.", [true, true, true]),
            ("[::1]:7077", [true, true, true]),
            ("[::ffff:127.0.0.1]", [true, true, true]),
            ("192.168.1.5", [false, true, true]),
            ("192.168.1.6", [false, false, true]),
            ("inbox.example.org", [false, true, true]),
            ("INBOX.example.org.:99", [false, true, true]),
            ("evil.example", [false, false, false]),
            ("localhost.evil.example", [false, false, false]),
            ("inbox.example.org.evil.example", [false, false, false]),
            ("127.0.0.1.evil.example", [false, false, false]),
            ("evil@localhost", [false, false, false]),
            ("localhost:x", [false, false, false]),
            ("", [false, false, false]),
        ];
        for (host, expected) in cases {
            let parts = parts("/", &[("host", host)]);
            for (names, expected) in [&local, &lan, &any].into_iter().zip(expected) {
                assert_eq!(names.check_host(&parts).is_ok(), expected, "{host} {names:?}");
            }
        }
    }

    #[test]
    fn all_names_of_a_request_have_to_be_ours_and_there_has_to_be_one() {
        let local = names("127.0.0.1:7077", &[]);
        let refused = local.check_host(&parts("/", &[])).unwrap_err();
        assert_eq!(refused.status(), 421);
        assert!(local.check_host(&parts("http://localhost/", &[])).is_ok());
        assert!(
            local.check_host(&parts("http://evil.example/", &[("host", "localhost")])).is_err()
        );
        assert!(local.check_host(&parts("/", &[("host", "localhost"), ("host", "evil")])).is_err());
    }

    #[test]
    fn what_changes_something_comes_from_a_page_of_ours_or_from_none() {
        let local = names("127.0.0.1:7077", &["https://inbox.example.org"]);
        let host = "localhost:7077";
        // Origin, the browser's header, and whether the request passes.
        let cases = [
            (None, None, true),
            (Some("http://localhost:7077"), None, true),
            (Some("http://localhost:7077"), Some("same-origin"), true),
            (Some("https://inbox.example.org"), Some("same-origin"), true),
            (Some("https://inbox.example.org:443"), None, true),
            (Some("null"), Some("same-origin"), true),
            (None, Some("same-origin"), true),
            (None, Some("none"), true),
            (Some("null"), None, false),
            (Some("null"), Some("cross-site"), false),
            (None, Some("cross-site"), false),
            (None, Some("same-site"), false),
            (None, Some(""), false),
            (Some("http://localhost:7077"), Some("cross-site"), false),
            (Some("http://localhost:3000"), None, false),
            (Some("http://localhost"), None, false),
            (Some("http://127.0.0.1:7077"), None, false),
            (Some("https://inbox.example.org:8443"), None, false),
            (Some("https://evil.example"), None, false),
            (Some("https://evil.example"), Some("same-origin"), false),
            (Some("http://localhost:7077.evil.example"), None, false),
            (Some("http://localhost:7077@evil.example"), None, false),
            (Some("file://"), None, false),
            (Some(""), None, false),
        ];
        for (origin, site, expected) in cases {
            let mut headers = vec![("host", host)];
            headers.extend(origin.map(|origin| ("origin", origin)));
            headers.extend(site.map(|site| (FETCH_SITE, site)));
            let sent = local.check_origin(&parts("/", &headers), false);
            assert_eq!(sent.is_ok(), expected, "{origin:?} {site:?}");
            assert!(sent.is_ok() || sent.unwrap_err().status() == 403);
        }
    }

    #[test]
    fn behind_tls_a_plain_page_is_another_site() {
        let names = names("127.0.0.1:7077", &["inbox.example.org"]);
        let sent = |origin, secure| {
            let headers = [("host", "inbox.example.org"), ("origin", origin)];
            names.check_origin(&parts("/", &headers), secure).is_ok()
        };
        assert!(sent("https://inbox.example.org", true));
        assert!(sent("http://inbox.example.org", false));
        assert!(!sent("http://inbox.example.org", true));
    }

    #[test]
    fn a_public_name_that_is_none_is_refused() {
        let bind: SocketAddr = "127.0.0.1:1".parse().unwrap();
        for wrong in ["", "https://", "a b", "x@y", "host:port", "https://host/path"] {
            let error = AllowedHosts::new(bind, [wrong]).unwrap_err();
            assert_eq!(error, InvalidPublicHost(wrong.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn no_header_makes_a_panic_or_a_name_of_ours(text in "[ -~]{0,40}") {
            let local = names("127.0.0.1:7077", &[]);
            let parts = parts("/", &[("host", &text), ("origin", &text)]);
            let ours = ["localhost", "127.", "[::1]", "[::ffff:"];
            let lower = text.to_ascii_lowercase();
            let known = ours.iter().any(|name| lower.trim().starts_with(name));
            prop_assert!(known || local.check_host(&parts).is_err());
            let _ = local.check_origin(&parts, true);
        }
    }
}
