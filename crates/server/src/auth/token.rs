//! An access token of a program or a person, and the format of the token file, which has only its hash.

use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unstuck_core::time::Time;

use super::caller::{AccessRole, Caller, ProjectVisibility, TokenId};
use super::error::AccessError;
use super::private;

/// The version of the format that this Unstuck writes.
const FILE_VERSION: u32 = 1;

/// Prefix of all tokens, by which secret scanners recognize them.
const TOKEN_PREFIX: &str = "ust_";
/// Number of random bytes, too many to guess.
const RANDOM_BYTES: usize = 32;

/// A token in plain text, as it is given out once.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    pub(super) fn generate() -> Result<Self, AccessError> {
        let random: [u8; RANDOM_BYTES] = private::random_bytes()?;
        Ok(Self(format!("{TOKEN_PREFIX}{}", BASE64.encode(random))))
    }

    /// Parses a text that has the form of a token.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let random = BASE64.decode(text.strip_prefix(TOKEN_PREFIX)?).ok()?;
        (random.len() == RANDOM_BYTES).then(|| Self(text.to_owned()))
    }

    /// Returns the token in plain text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn hash(&self) -> TokenHash {
        TokenHash(blake3::hash(self.0.as_bytes()))
    }
}

/// Omits the token.
impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The stored hash of a token. It compares in constant time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TokenHash(blake3::Hash);

impl TokenHash {
    /// Returns the first characters of the hash, by which a session knows that the token is still
    /// the same.
    pub(super) fn fingerprint(self) -> String {
        self.0.to_hex()[..16].to_owned()
    }
}

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_hex())
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        blake3::Hash::from_hex(hex).map(Self).map_err(|_| D::Error::custom("this is no hash"))
    }
}

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// The id, which is unique.
    pub id: TokenId,
    /// The name of its user, as answers record it.
    pub name: String,
    /// The role that it grants.
    pub role: AccessRole,
    /// The projects that it gives access to.
    pub reach: ProjectVisibility,
    /// The time at which it was made or last rotated.
    pub created_at: Time,
    /// The time at which it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    pub(super) hash: TokenHash,
}

impl TokenEntry {
    /// Returns whether the token is valid at this time.
    pub fn is_valid(&self, now: Time) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Returns the caller that this token authenticates.
    pub(super) fn to_caller(&self) -> Caller {
        Caller { name: self.name.as_str().into(), role: self.role, reach: self.reach.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessTokenFile {
    version: u32,
    /// The id of the next token: an id is used once.
    pub(super) next: u32,
    /// The token that is stored beside this file in plain text for programs of the same user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) here: Option<TokenId>,
    pub(super) tokens: Vec<TokenEntry>,
}

/// The part that is parsed first, to recognize files of newer versions.
#[derive(Deserialize)]
struct AccessTokenFileVersion {
    version: u32,
}

impl AccessTokenFile {
    pub(super) const fn empty() -> Self {
        Self { version: FILE_VERSION, next: 1, here: None, tokens: Vec::new() }
    }

    /// Parses a file, and checks its version and its consistency.
    pub(super) fn parse_file(path: &Path, bytes: &[u8]) -> Result<Self, AccessError> {
        let damaged = |why| AccessError::Damaged { path: path.to_owned(), why };
        let wrong = |error: serde_json::Error| damaged(error.to_string());
        let AccessTokenFileVersion { version } = serde_json::from_slice(bytes).map_err(wrong)?;
        if version > FILE_VERSION {
            return Err(AccessError::Newer { path: path.to_owned(), version });
        }
        let book: Self = serde_json::from_slice(bytes).map_err(wrong)?;
        match book.find_contradiction() {
            Some(id) => Err(damaged(format!("token {id} is in it twice, or was never given out"))),
            None => Ok(book),
        }
    }

    pub(super) fn find_entry(&self, id: TokenId) -> Option<&TokenEntry> {
        self.tokens.iter().find(|entry| entry.id == id)
    }

    /// Returns a token whose id is a duplicate or was never assigned.
    fn find_contradiction(&self) -> Option<TokenId> {
        let wrong = |entry: &&TokenEntry| {
            let same = self.tokens.iter().filter(|other| other.id == entry.id).count();
            same > 1 || entry.id.0 >= self.next
        };
        self.tokens.iter().find(wrong).map(|entry| entry.id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_reads_as_it_was_made() {
        let token = AccessToken::generate().unwrap();
        assert!(token.as_str().starts_with("ust_"));
        assert_eq!(token.as_str().len(), 4 + 43);
        let read = AccessToken::parse(&format!(" {}\n", token.as_str())).unwrap();
        assert_eq!(read.hash(), token.hash());
        assert_ne!(AccessToken::generate().unwrap().hash(), token.hash());
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn what_has_another_form_is_no_token() {
        let whole = AccessToken::generate().unwrap();
        let whole = whole.as_str();
        let long = format!("{whole}AAAA");
        let wrong = ["", "ust_", "ust_AAAA", &whole[4..], &whole[..46], &long, "usx_AAAA"];
        for text in wrong {
            assert!(AccessToken::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn names_are_written_with_a_letter_and_read_without_one_too() {
        assert_eq!(TokenId(3).to_string(), "k3");
        assert_eq!("k3".parse(), Ok(TokenId(3)));
        assert_eq!("3".parse(), Ok(TokenId(3)));
        assert!("kk3".parse::<TokenId>().is_err());
        assert!("".parse::<TokenId>().is_err());
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in ".*", after in "ust_[A-Za-z0-9_=-]{0,60}") {
            let _ = AccessToken::parse(&text);
            let _ = AccessToken::parse(&after);
        }
    }
}
