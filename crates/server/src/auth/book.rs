//! The file of tokens: its form, and what in it cannot be right.

use std::path::Path;

use serde::{Deserialize, Serialize};
use unstuck_core::time::Time;

use super::caller::{Caller, Reach, Role};
use super::error::AccessError;
use super::token::{TokenHash, TokenId};

/// The form that this Unstuck writes.
const VERSION: u32 = 1;

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// Its name among the others.
    pub id: TokenId,
    /// Who uses it, as answers record it.
    pub name: String,
    /// What it lets do.
    pub role: Role,
    /// Which projects it lets see.
    pub reach: Reach,
    /// When it was made, or made anew.
    pub created_at: Time,
    /// From when on it lets nobody in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    pub(super) hash: TokenHash,
}

impl TokenEntry {
    /// Whether it lets anybody in.
    pub fn is_good(&self, now: Time) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Whoever shows it.
    pub(super) fn caller(&self) -> Caller {
        Caller { name: self.name.as_str().into(), role: self.role, reach: self.reach.clone() }
    }
}

/// All tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Book {
    version: u32,
    /// The number of the next one: a number is given once.
    pub(super) next: u32,
    /// The one that lies beside this file for programs of the same user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) here: Option<TokenId>,
    pub(super) tokens: Vec<TokenEntry>,
}

/// All that is looked at before it is known who wrote the rest.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Book {
    pub(super) const fn empty() -> Self {
        Self { version: VERSION, next: 1, here: None, tokens: Vec::new() }
    }

    /// What a file holds.
    pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Self, AccessError> {
        let damaged = |why| AccessError::Damaged { path: path.to_owned(), why };
        let wrong = |error: serde_json::Error| damaged(error.to_string());
        let Versioned { version } = serde_json::from_slice(bytes).map_err(wrong)?;
        if version > VERSION {
            return Err(AccessError::Newer { path: path.to_owned(), version });
        }
        let book: Self = serde_json::from_slice(bytes).map_err(wrong)?;
        match book.contradiction() {
            Some(id) => Err(damaged(format!("token {id} is in it twice, or was never given out"))),
            None => Ok(book),
        }
    }

    pub(super) fn entry(&self, id: TokenId) -> Option<&TokenEntry> {
        self.tokens.iter().find(|entry| entry.id == id)
    }

    /// A token that cannot be there like that.
    fn contradiction(&self) -> Option<TokenId> {
        let wrong = |entry: &&TokenEntry| {
            let same = self.tokens.iter().filter(|other| other.id == entry.id).count();
            same > 1 || entry.id.0 >= self.next
        };
        self.tokens.iter().find(wrong).map(|entry| entry.id)
    }
}
