//! An access token of a program or a person. Only its hash is stored.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::AccessError;
use super::private;

/// Prefix of all tokens, by which secret scanners recognize them.
const TOKEN_PREFIX: &str = "ust_";
/// Number of random bytes, too many to guess.
const RANDOM_BYTES: usize = 32;

/// A token in plain text, as it is given out once.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    /// Makes a new token.
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

/// The id of a token: `k3`. It is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u32);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("k{}", self.0))
    }
}

impl FromStr for TokenId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('k').unwrap_or(text);
        digits.parse().map(Self).map_err(|_| "write its number, such as 3 or k3")
    }
}

impl Serialize for TokenId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TokenId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
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
