//! Signed links that permit one action for a limited time; the server need not store them.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};

use super::caller::{AccessRole, Caller, ProjectVisibility, TokenId};
use super::error::AccessError;
use super::key::{ServerSigningKey, SigningPurpose};
use super::private;
use crate::problem::Problem;

/// Maximum lifetime of a link.
pub const LINK_LASTS_MAX: Span = Span::from_hours(7 * 24);
/// Lifetime of an entry link, which is clicked at once.
const ENTRY_LASTS: Span = Span::from_mins(5);

/// A link to the questions of one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswererLink {
    /// The name of the recipient, as answers record it.
    pub name: String,
    /// The name of the project.
    pub project: String,
    /// The time at which the link expires.
    pub expires_at: Time,
}

/// A link to one answer of one question. Following it only shows what it would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceLink {
    /// The name of the recipient, as answers record it.
    pub name: String,
    /// The name of the project.
    pub project: String,
    /// The id of the question.
    pub question: QuestionId,
    /// The answer that it gives.
    pub decision: Decision,
    /// The time at which the link expires.
    pub expires_at: Time,
}

/// A link that opens a session of a token, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryLink {
    /// The id of the token.
    pub(super) token: TokenId,
    /// The id of the link, which is not used twice.
    pub(super) id: String,
    /// The time at which the link expires.
    pub(super) expires_at: Time,
}

/// A link that this server signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignedLink {
    /// A link to the questions of one project.
    Answerer(AnswererLink),
    /// A link to one answer of one question.
    Choice(ChoiceLink),
    /// A single-use link into a session.
    Entry(EntryLink),
}

/// The reason why a link is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The link is incomplete, or not signed by this server.
    #[error("this link is not complete, or was not made here")]
    Unreadable,
    /// The link has expired.
    #[error("this link has expired")]
    Expired,
    /// The single-use link was used before.
    #[error("this link was used already")]
    Used,
}

impl SignedLink {
    /// Makes a link to the questions of a project.
    pub fn for_answerer(name: &str, project: &str, lasts: Span, now: Time) -> Self {
        let name = name.to_owned();
        let project = project.to_owned();
        Self::Answerer(AnswererLink { name, project, expires_at: compute_expiry(lasts, now) })
    }

    /// Makes a link to one answer of a question.
    pub fn for_choice(
        name: &str,
        project: &str,
        question: QuestionId,
        decision: Decision,
        lasts: Span,
        now: Time,
    ) -> Self {
        let name = name.to_owned();
        let project = project.to_owned();
        let expires_at = compute_expiry(lasts, now);
        Self::Choice(ChoiceLink { name, project, question, decision, expires_at })
    }

    /// Makes a single-use link into a session of a token, which expires soon.
    pub fn for_entry(token: TokenId, now: Time) -> Result<Self, AccessError> {
        let id = private::random_name()?;
        Ok(Self::Entry(EntryLink { token, id, expires_at: now + ENTRY_LASTS }))
    }

    /// Returns the signed text, for the last part of a URL.
    pub fn seal(&self, key: &ServerSigningKey) -> String {
        key.seal(SigningPurpose::Link, self)
    }

    /// Parses a link, if its signature is valid and it has not expired.
    pub fn unseal(key: &ServerSigningKey, text: &str, now: Time) -> Result<Self, LinkError> {
        let link: Self = key.unseal(SigningPurpose::Link, text).ok_or(LinkError::Unreadable)?;
        if now < link.expires_at() { Ok(link) } else { Err(LinkError::Expired) }
    }

    const fn expires_at(&self) -> Time {
        match self {
            Self::Answerer(link) => link.expires_at,
            Self::Choice(link) => link.expires_at,
            Self::Entry(link) => link.expires_at,
        }
    }
}

impl AnswererLink {
    /// Returns the caller that the link authenticates.
    pub fn to_caller(&self) -> Caller {
        make_answerer(&self.name, &self.project)
    }
}

impl ChoiceLink {
    /// Returns the caller that the link authenticates.
    pub fn to_caller(&self) -> Caller {
        make_answerer(&self.name, &self.project)
    }
}

/// Returns a caller who may answer the questions of one project.
pub(super) fn make_answerer(name: &str, project: &str) -> Caller {
    let reach = ProjectVisibility::Only([project.into()].into());
    Caller { name: name.into(), role: AccessRole::Answerer, reach }
}

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        let (status, hint) = match error {
            LinkError::Unreadable => {
                (StatusCode::NOT_FOUND, "open it again from the message, in one piece")
            }
            LinkError::Expired | LinkError::Used => {
                (StatusCode::GONE, "log in with a token, or wait for the next message")
            }
        };
        Self::new(status, error.to_string()).with_hint(hint)
    }
}

fn compute_expiry(lasts: Span, now: Time) -> Time {
    now + lasts.min(LINK_LASTS_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Time = Time::from_millis(1_000_000);
    const HOUR: Span = Span::from_hours(1);

    fn links() -> [SignedLink; 3] {
        [
            SignedLink::for_answerer("phone", "shop", HOUR, NOW),
            SignedLink::for_choice("phone", "shop", QuestionId(3), Decision::AllowOnce, HOUR, NOW),
            SignedLink::for_entry(TokenId(1), NOW).unwrap(),
        ]
    }

    #[test]
    fn a_link_reads_as_it_was_made_until_it_ends() {
        let key = ServerSigningKey::of_tests();
        for link in links() {
            let text = link.seal(&key);
            let end = link.expires_at();
            assert_eq!(SignedLink::unseal(&key, &text, NOW), Ok(link.clone()));
            assert_eq!(SignedLink::unseal(&key, &text, end - Span::from_millis(1)), Ok(link));
            assert_eq!(SignedLink::unseal(&key, &text, end), Err(LinkError::Expired));
        }
    }

    #[test]
    fn no_link_lasts_longer_than_a_week_and_an_entry_only_minutes() {
        let long = Span::from_hours(10_000);
        let end = NOW + Span::from_hours(168);
        assert_eq!(SignedLink::for_answerer("a", "b", long, NOW).expires_at(), end);
        let choice = SignedLink::for_choice("a", "b", QuestionId(1), Decision::Deny, long, NOW);
        assert_eq!(choice.expires_at(), end);
        let entry = SignedLink::for_entry(TokenId(1), NOW).unwrap();
        assert_eq!(entry.expires_at(), NOW + Span::from_mins(5));
    }

    #[test]
    fn a_part_another_key_and_another_purpose_are_nothing() {
        let key = ServerSigningKey::of_tests();
        for link in links() {
            let text = link.seal(&key);
            for end in 0..text.len() {
                assert_eq!(SignedLink::unseal(&key, &text[..end], NOW), Err(LinkError::Unreadable));
            }
            let folder = tempfile::tempdir().unwrap();
            let other = ServerSigningKey::open(folder.path()).unwrap();
            assert_eq!(SignedLink::unseal(&other, &text, NOW), Err(LinkError::Unreadable));
            let session = key.seal(SigningPurpose::Session, &link);
            assert_eq!(SignedLink::unseal(&key, &session, NOW), Err(LinkError::Unreadable));
        }
    }

    #[test]
    fn a_link_reaches_one_project_as_an_answerer() {
        let caller = AnswererLink { name: "phone".into(), project: "shop".into(), expires_at: NOW }
            .to_caller();
        assert_eq!((&*caller.name, caller.role), ("phone", AccessRole::Answerer));
        assert!(caller.can_see("shop") && !caller.can_see("bank"));
    }

    #[test]
    fn a_link_fits_into_a_message() {
        let key = ServerSigningKey::of_tests();
        for link in links() {
            let text = link.seal(&key);
            assert!(text.len() < 300, "{} letters", text.len());
            assert!(
                text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c)),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_is_changed_it_leads_nowhere(at in 0_usize..400, to in any::<char>()) {
            let key = ServerSigningKey::of_tests();
            let text = SignedLink::for_answerer("phone", "shop", HOUR, NOW).seal(&key);
            let mut letters: Vec<char> = text.chars().collect();
            let at = at % letters.len();
            prop_assume!(letters[at] != to);
            letters[at] = to;
            let changed: String = letters.into_iter().collect();
            prop_assert_eq!(SignedLink::unseal(&key, &changed, NOW), Err(LinkError::Unreadable));
        }

        #[test]
        fn no_text_is_a_link_or_a_panic(text in ".*") {
            prop_assert_eq!(SignedLink::unseal(&ServerSigningKey::of_tests(), &text, NOW), Err(LinkError::Unreadable));
        }
    }
}
