//! The format of the token file, and its consistency checks.

use std::path::Path;

use serde::{Deserialize, Serialize};
use unstuck_core::time::Time;

use super::caller::{AccessRole, Caller, ProjectVisibility};
use super::error::AccessError;
use super::token::{TokenHash, TokenId};

/// The version of the format that this Unstuck writes.
const FILE_VERSION: u32 = 1;

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

/// All tokens.
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
