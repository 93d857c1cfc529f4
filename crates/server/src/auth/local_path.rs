//! A path of this server: the target of the redirect after a login. It never leads to another
//! server.

use std::fmt;

use axum::http::uri::PathAndQuery;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Maximum length of a path, in bytes.
const BYTES_MAX: usize = 1024;
/// The characters that have to be escaped within a query.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');

/// A path of this server, with its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPath(String);

impl LocalPath {
    /// Returns the first page.
    pub fn home_page() -> Self {
        Self("/".to_owned())
    }

    /// Parses a path; returns the first page if it is no path of this server.
    pub fn parse_or_home(text: Option<&str>) -> Self {
        text.and_then(Self::parse_local).unwrap_or_else(Self::home_page)
    }

    /// Parses a path, if it cannot lead to another server. Browsers take `\` for `/`, drop control
    /// characters, and take a path that begins with two slashes for another server.
    fn parse_local(text: &str) -> Option<Self> {
        let mut letters = text.bytes();
        let local = letters.next() == Some(b'/') && letters.next() != Some(b'/');
        let plain = text.bytes().all(|letter| letter.is_ascii_graphic() && letter != b'\\');
        let fits = text.len() <= BYTES_MAX && PathAndQuery::try_from(text).is_ok();
        // A redirect back to the login would lead nowhere.
        let login = text.starts_with("/login") || text.starts_with("/enter/");
        (local && plain && fits && !login).then(|| Self(text.to_owned()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of the login page that redirects here afterwards.
    pub(super) fn login_url(&self) -> String {
        match self.as_str() {
            "/" => "/login".to_owned(),
            path => format!("/login?next={}", utf8_percent_encode(path, IN_QUERY)),
        }
    }
}

impl fmt::Display for LocalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_paths_of_this_server_are_gone_on_to() {
        for local in ["/", "/projects/shop", "/q/3?all=1&x=%2F", "/a//b", "/a:b@c"] {
            assert_eq!(LocalPath::parse_or_home(Some(local)).as_str(), local);
        }
        let long = format!("/{}", "x".repeat(BYTES_MAX));
        let elsewhere = [
            "", "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example",
            "evil", "/\t/evil.example", "/a\\b", "/a\nb", " /a", "/a b", "/ü", "javascript:x",
            "/login", "/login?next=/login", "/enter/abc", &long,
        ];
        for text in elsewhere {
            assert_eq!(LocalPath::parse_or_home(Some(text)), LocalPath::home_page(), "{text:?}");
        }
        assert_eq!(LocalPath::parse_or_home(None), LocalPath::home_page());
    }

    #[test]
    fn the_way_to_log_in_says_where_to_go_on() {
        assert_eq!(LocalPath::home_page().login_url(), "/login");
        let path = LocalPath::parse_or_home(Some("/q/3?all=1&b=2#x"));
        assert_eq!(path.login_url(), "/login?next=/q/3%3Fall%3D1%26b%3D2%23x");
    }

    proptest! {
        #[test]
        fn whatever_is_asked_for_it_stays_here(text in ".*") {
            let path = LocalPath::parse_or_home(Some(&text));
            prop_assert!(path.as_str().starts_with('/'));
            prop_assert!(!path.as_str().starts_with("//"));
            prop_assert!(!path.as_str().contains('\\'));
        }
    }
}
