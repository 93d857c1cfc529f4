//! Sessions of browsers, and their cookie. The server stores nothing about them: the cookie is signed, and
//! belongs to a token or to a link.

use axum::http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};
use unstuck_core::time::{Span, Time};

use super::caller::TokenId;
use super::error::AccessError;
use super::key::{ServerSigningKey, SigningPurpose};
use super::private;

const COOKIE_NAME: &str = "unstuck_session";
/// Maximum number of cookies of that name that are read.
const SAME_NAME_MAX: usize = 8;

/// Lifetime of a session that is not used.
const SESSION_LASTS: Span = Span::from_hours(12);
/// Remaining lifetime at which a used session is renewed.
const RENEWED_AFTER: Span = Span::from_hours(6);

/// The credential that opened a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoginSessionOrigin {
    /// A token. Role and projects are those of the token at each use.
    Token {
        id: TokenId,
        /// The fingerprint that shows whether the token is still the same.
        print: String,
    },
    /// A link: questions of one project, until the link expires.
    Link {
        /// The name of the link's recipient, as answers record it.
        name: String,
        project: String,
        /// The time at which the link expires.
        ends_at: Time,
    },
}

/// A session of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoginSession {
    /// The id. It stays the same when the session is renewed, and so do its forms.
    id: String,
    pub(super) opened: LoginSessionOrigin,
    /// The time at which the session expires, unless it is renewed.
    until: Time,
}

impl LoginSession {
    pub(super) fn open(opened: LoginSessionOrigin, now: Time) -> Result<Self, AccessError> {
        let id = private::random_name()?;
        Ok(Self { id, until: session_expiry(&opened, now), opened })
    }

    /// Parses a cookie, if its signature is valid and it has not expired.
    pub(super) fn unseal(key: &ServerSigningKey, cookie: &str, now: Time) -> Option<Self> {
        let session: Self = key.unseal(SigningPurpose::Session, cookie)?;
        (now < session.until).then_some(session)
    }

    /// Returns the signed value of the cookie.
    pub(super) fn seal(&self, key: &ServerSigningKey) -> String {
        key.seal(SigningPurpose::Session, self)
    }

    /// Returns the session with a later end, once half of its lifetime is over and if it can be
    /// extended.
    pub(super) fn renew_if_due(&self, now: Time) -> Option<Self> {
        let later = session_expiry(&self.opened, now);
        let due = self.until.since(now) <= RENEWED_AFTER && later > self.until;
        due.then(|| Self { until: later, ..self.clone() })
    }

    pub(super) fn csrf_token(&self, key: &ServerSigningKey) -> String {
        key.keyed_hash(SigningPurpose::Csrf, self.id.as_bytes()).to_hex().to_string()
    }

    pub(super) fn matches_csrf(&self, key: &ServerSigningKey, csrf: &str) -> bool {
        let given = blake3::Hash::from_hex(csrf);
        // The hash compares in constant time.
        given.is_ok_and(|given| given == key.keyed_hash(SigningPurpose::Csrf, self.id.as_bytes()))
    }

    /// Returns the time at which every cookie of a session that ends now has expired, renewed ones
    /// included.
    pub(super) fn latest_expiry(now: Time) -> Time {
        now + SESSION_LASTS
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the time at which the session expires, unless it is renewed.
    pub(super) const fn expires_at(&self) -> Time {
        self.until
    }
}

/// Returns the end of a session that is used now.
fn session_expiry(opened: &LoginSessionOrigin, now: Time) -> Time {
    let end = now + SESSION_LASTS;
    match opened {
        LoginSessionOrigin::Token { .. } => end,
        LoginSessionOrigin::Link { ends_at, .. } => end.min(*ends_at),
    }
}

/// Returns the values of the session cookie in a request. There may be several: other servers of
/// the same machine share the cookies of a browser, regardless of the port.
pub(super) fn read_session_cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    let pairs = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
    let named = pairs.filter_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='));
    named.take(SAME_NAME_MAX)
}

pub(super) fn set_session_cookie(
    sealed: &str,
    until: Time,
    now: Time,
    secure: bool,
) -> Option<HeaderValue> {
    let seconds = until.since(now).as_millis() / 1_000;
    format_cookie(&format!("{COOKIE_NAME}={sealed}; Max-Age={seconds}"), secure)
}

pub(super) fn clear_session_cookie(secure: bool) -> Option<HeaderValue> {
    format_cookie(&format!("{COOKIE_NAME}=; Max-Age=0"), secure)
}

/// Formats the header: scripts cannot read the cookie, other sites cannot send it, and it is not
/// sent over a plain connection if the server is behind TLS.
fn format_cookie(pair: &str, secure: bool) -> Option<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    let mut value =
        HeaderValue::from_str(&format!("{pair}; Path=/; HttpOnly; SameSite=Lax{secure}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Time = Time::from_millis(1_000_000);
    const MOMENT: Span = Span::from_millis(1);

    fn of_a_token() -> LoginSession {
        LoginSession::open(
            LoginSessionOrigin::Token { id: TokenId(1), print: "ab".to_owned() },
            NOW,
        )
        .unwrap()
    }

    fn of_a_link(ends_at: Time) -> LoginSession {
        let name = "phone".to_owned();
        let project = "shop".to_owned();
        LoginSession::open(LoginSessionOrigin::Link { name, project, ends_at }, NOW).unwrap()
    }

    #[test]
    fn a_session_reads_as_it_was_until_it_is_over() {
        let key = ServerSigningKey::of_tests();
        let session = of_a_token();
        let cookie = session.seal(&key);
        let end = NOW + SESSION_LASTS;
        assert_eq!(LoginSession::unseal(&key, &cookie, NOW), Some(session.clone()));
        assert_eq!(LoginSession::unseal(&key, &cookie, end - MOMENT), Some(session));
        assert_eq!(LoginSession::unseal(&key, &cookie, end), None);
    }

    #[test]
    fn it_is_renewed_when_half_is_over_and_its_forms_stay_good() {
        let key = ServerSigningKey::of_tests();
        let session = of_a_token();
        let half = NOW + RENEWED_AFTER;
        assert_eq!(session.renew_if_due(half - MOMENT), None);
        let renewed = session.renew_if_due(half).unwrap();
        assert_eq!(renewed.expires_at(), half + SESSION_LASTS);
        assert!(renewed.matches_csrf(&key, &session.csrf_token(&key)));
    }

    #[test]
    fn one_of_a_link_never_outlives_the_link() {
        let soon = of_a_link(NOW + Span::from_hours(1));
        assert_eq!(soon.expires_at(), NOW + Span::from_hours(1));
        assert_eq!(soon.renew_if_due(NOW + Span::from_mins(59)), None);
        let late = of_a_link(NOW + Span::from_hours(20));
        assert_eq!(late.expires_at(), NOW + SESSION_LASTS);
        let renewed = late.renew_if_due(NOW + Span::from_hours(11)).unwrap();
        assert_eq!(renewed.expires_at(), NOW + Span::from_hours(20));
        assert_eq!(renewed.renew_if_due(NOW + Span::from_hours(19)), None);
    }

    #[test]
    fn the_forms_of_one_session_are_nothing_to_another() {
        let key = ServerSigningKey::of_tests();
        let one = of_a_token();
        let other = of_a_token();
        assert!(one.matches_csrf(&key, &one.csrf_token(&key)));
        assert!(!one.matches_csrf(&key, &other.csrf_token(&key)));
        for wrong in ["", "00", &one.csrf_token(&key)[1..], one.id()] {
            assert!(!one.matches_csrf(&key, wrong), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_session_or_a_panic(text in ".*") {
            let key = ServerSigningKey::of_tests();
            let session = of_a_token();
            prop_assert_eq!(LoginSession::unseal(&key, &text, NOW), None);
            prop_assert!(!session.matches_csrf(&key, &text));
        }
    }

    fn read(lines: &[&str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::COOKIE, HeaderValue::from_str(line).unwrap());
        }
        read_session_cookies(&headers).map(str::to_owned).collect()
    }

    #[test]
    fn it_is_found_among_others() {
        assert_eq!(read(&["unstuck_session=a.b"]), ["a.b"]);
        assert_eq!(read(&["x=1; unstuck_session=a; y=2"]), ["a"]);
        assert_eq!(read(&["x=1;unstuck_session=a", "unstuck_session=b"]), ["a", "b"]);
        assert_eq!(read(&["unstuck_session", "xunstuck_session=a", "unstuck_sessions=a"]), [""; 0]);
        assert_eq!(read(&[&"unstuck_session=a;".repeat(50)]).len(), SAME_NAME_MAX);
    }

    #[test]
    fn it_is_kept_from_scripts_and_other_sites() {
        let now = Time::from_millis(5_000);
        let value = set_session_cookie("a.b", now + Span::from_secs(90), now, false).unwrap();
        let said = "unstuck_session=a.b; Max-Age=90; Path=/; HttpOnly; SameSite=Lax";
        assert_eq!(value.to_str().unwrap(), said);
        assert!(value.is_sensitive());
        let value = set_session_cookie("a.b", now, now, true).unwrap();
        assert!(value.to_str().unwrap().ends_with("; SameSite=Lax; Secure"));
        assert!(
            clear_session_cookie(false)
                .unwrap()
                .to_str()
                .unwrap()
                .contains("unstuck_session=; Max-Age=0;")
        );
    }

    proptest! {
        #[test]
        fn no_header_makes_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let headers = HeaderMap::from_iter([(header::COOKIE, value)]);
                prop_assert!(read_session_cookies(&headers).count() <= SAME_NAME_MAX);
            }
        }
    }
}
