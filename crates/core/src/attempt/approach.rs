//! An approach: what one attempt did, in a line, and the digest that recognises it again.

use serde::{Deserialize, Serialize};

/// Recognises the same approach again: a hash over the normalised change and the actions taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub u64);

/// How many changed files an approach names.
pub const FILES_MAX: usize = 20;
/// The longest name of a file in an approach, in characters.
pub const FILE_CHARS_MAX: usize = 200;

/// What one attempt did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approach {
    /// Recognises it again; none when it changed nothing and did nothing.
    pub digest: Option<Digest>,
    /// What it did, in one line of the agent's own words, redacted; may be empty.
    pub summary: String,
    /// Files it changed; a few names for the next attempt to read.
    pub files: Vec<String>,
    /// How many files it changed in all.
    pub files_changed: u32,
    /// How many commands it ran.
    pub commands: u32,
}
