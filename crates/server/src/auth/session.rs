//! Sessions of browsers. The server stores nothing about them: the cookie is signed, and belongs to
//! a token or to a link.

use serde::{Deserialize, Serialize};
use unstuck_core::time::{Span, Time};

use super::error::AccessError;
use super::key::{Key, Purpose};
use super::private;
use super::token::TokenId;

/// Lifetime of a session that is not used.
const LASTS: Span = Span::from_hours(12);
/// Remaining lifetime at which a used session is renewed.
const RENEWED_AFTER: Span = Span::from_hours(6);

/// The credential that opened a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Opened {
    /// A token. Role and projects are those of the token at each use.
    Token {
        /// The id of the token.
        id: TokenId,
        /// The fingerprint that shows whether the token is still the same.
        print: String,
    },
    /// A link: questions of one project, until the link expires.
    Link {
        /// The name of the link's recipient, as answers record it.
        name: String,
        /// The name of the project.
        project: String,
        /// The time at which the link expires.
        ends_at: Time,
    },
}

/// A session of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// The id. It stays the same when the session is renewed, and so do its forms.
    id: String,
    pub(super) opened: Opened,
    /// The time at which the session expires, unless it is renewed.
    until: Time,
}

impl Session {
    /// Opens a new session.
    pub(super) fn open(opened: Opened, now: Time) -> Result<Self, AccessError> {
        let id = private::random_name()?;
        Ok(Self { id, until: until(&opened, now), opened })
    }

    /// Parses a cookie, if its signature is valid and it has not expired.
    pub(super) fn read(key: &Key, cookie: &str, now: Time) -> Option<Self> {
        let session: Self = key.unseal(Purpose::Session, cookie)?;
        (now < session.until).then_some(session)
    }

    /// Returns the signed value of the cookie.
    pub(super) fn seal(&self, key: &Key) -> String {
        key.seal(Purpose::Session, self)
    }

    /// Returns the session with a later end, once half of its lifetime is over and if it can be
    /// extended.
    pub(super) fn renewed(&self, now: Time) -> Option<Self> {
        let later = until(&self.opened, now);
        let due = self.until.since(now) <= RENEWED_AFTER && later > self.until;
        due.then(|| Self { until: later, ..self.clone() })
    }

    /// Returns the CSRF token of the session's forms.
    pub(super) fn csrf(&self, key: &Key) -> String {
        key.proof(Purpose::Csrf, self.id.as_bytes()).to_hex().to_string()
    }

    /// Returns whether a CSRF token belongs to this session.
    pub(super) fn sent(&self, key: &Key, csrf: &str) -> bool {
        let given = blake3::Hash::from_hex(csrf);
        // The hash compares in constant time.
        given.is_ok_and(|given| given == key.proof(Purpose::Csrf, self.id.as_bytes()))
    }

    /// Returns the time at which every cookie of a session that ends now has expired, renewed ones
    /// included.
    pub(super) fn over_at_last(now: Time) -> Time {
        now + LASTS
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the time at which the session expires, unless it is renewed.
    pub(super) const fn until(&self) -> Time {
        self.until
    }
}

/// Returns the end of a session that is used now.
fn until(opened: &Opened, now: Time) -> Time {
    let end = now + LASTS;
    match opened {
        Opened::Token { .. } => end,
        Opened::Link { ends_at, .. } => end.min(*ends_at),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Time = Time::from_millis(1_000_000);
    const MOMENT: Span = Span::from_millis(1);

    fn of_a_token() -> Session {
        Session::open(Opened::Token { id: TokenId(1), print: "ab".to_owned() }, NOW).unwrap()
    }

    fn of_a_link(ends_at: Time) -> Session {
        let name = "phone".to_owned();
        let project = "shop".to_owned();
        Session::open(Opened::Link { name, project, ends_at }, NOW).unwrap()
    }

    #[test]
    fn a_session_reads_as_it_was_until_it_is_over() {
        let key = Key::of_tests();
        let session = of_a_token();
        let cookie = session.seal(&key);
        let end = NOW + LASTS;
        assert_eq!(Session::read(&key, &cookie, NOW), Some(session.clone()));
        assert_eq!(Session::read(&key, &cookie, end - MOMENT), Some(session));
        assert_eq!(Session::read(&key, &cookie, end), None);
    }

    #[test]
    fn it_is_renewed_when_half_is_over_and_its_forms_stay_good() {
        let key = Key::of_tests();
        let session = of_a_token();
        let half = NOW + RENEWED_AFTER;
        assert_eq!(session.renewed(half - MOMENT), None);
        let renewed = session.renewed(half).unwrap();
        assert_eq!(renewed.until(), half + LASTS);
        assert!(renewed.sent(&key, &session.csrf(&key)));
    }

    #[test]
    fn one_of_a_link_never_outlives_the_link() {
        let soon = of_a_link(NOW + Span::from_hours(1));
        assert_eq!(soon.until(), NOW + Span::from_hours(1));
        assert_eq!(soon.renewed(NOW + Span::from_mins(59)), None);
        let late = of_a_link(NOW + Span::from_hours(20));
        assert_eq!(late.until(), NOW + LASTS);
        let renewed = late.renewed(NOW + Span::from_hours(11)).unwrap();
        assert_eq!(renewed.until(), NOW + Span::from_hours(20));
        assert_eq!(renewed.renewed(NOW + Span::from_hours(19)), None);
    }

    #[test]
    fn the_forms_of_one_session_are_nothing_to_another() {
        let key = Key::of_tests();
        let one = of_a_token();
        let other = of_a_token();
        assert!(one.sent(&key, &one.csrf(&key)));
        assert!(!one.sent(&key, &other.csrf(&key)));
        for wrong in ["", "00", &one.csrf(&key)[1..], one.id()] {
            assert!(!one.sent(&key, wrong), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_session_or_a_panic(text in ".*") {
            let key = Key::of_tests();
            let session = of_a_token();
            prop_assert_eq!(Session::read(&key, &text, NOW), None);
            prop_assert!(!session.sent(&key, &text));
        }
    }
}
