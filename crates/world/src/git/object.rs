//! The hash and the kind of git objects, and the kinds of difference between them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The full hash of a git object, in hexadecimal: 40 digits, or 64 in SHA-256 repositories.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

impl Oid {
    /// Parses a full hash in lower case; returns `None` for any other text.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        if !matches!(bytes.len(), 40 | 64) || !bytes.iter().all(hex) {
            return None;
        }
        std::str::from_utf8(bytes).ok().map(|name| Self(name.to_owned()))
    }

    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the null hash, of the same length.
    pub(super) fn null_name(&self) -> String {
        "0".repeat(self.0.len())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::parse(name.as_bytes()).ok_or("not the full name of a git object")
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0
    }
}

/// The kind of object that git holds at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitFileMode {
    /// No object.
    Absent,
    /// A regular file.
    File,
    /// An executable file.
    Executable,
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
    /// Another kind, by its mode number.
    Other(u32),
}

impl GitFileMode {
    /// Parses six octal digits.
    pub(super) fn parse(digits: &[u8]) -> Option<Self> {
        if digits.len() != 6 {
            return None;
        }
        let number = digits.iter().try_fold(0_u32, |number, digit| match digit {
            b'0'..=b'7' => Some(number * 8 + u32::from(digit - b'0')),
            _ => None,
        })?;
        Some(match number {
            0 => Self::Absent,
            0o100_644 => Self::File,
            0o100_755 => Self::Executable,
            0o120_000 => Self::Link,
            0o160_000 => Self::Submodule,
            other => Self::Other(other),
        })
    }
}

/// The kind of difference of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The path is new.
    Added,
    /// The path is deleted.
    Deleted,
    /// The content or the mode changed.
    Modified,
    /// The path became another kind of object.
    TypeChanged,
    /// The path was renamed from another.
    Renamed,
    /// The path was copied from another.
    Copied,
    /// The path has a conflict.
    Unmerged,
}

impl DifferenceKind {
    /// Parses the letter by which git names the kind.
    pub(super) const fn parse(letter: u8) -> Option<Self> {
        Some(match letter {
            b'A' => Self::Added,
            b'D' => Self::Deleted,
            b'M' => Self::Modified,
            b'T' => Self::TypeChanged,
            b'R' => Self::Renamed,
            b'C' => Self::Copied,
            b'U' => Self::Unmerged,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_names_are_names() {
        assert!(Oid::parse("a".repeat(40).as_bytes()).is_some());
        assert!(Oid::parse("0".repeat(64).as_bytes()).is_some());
        for wrong in ["", "abc", "HEAD"] {
            assert_eq!(Oid::parse(wrong.as_bytes()), None);
        }
        assert_eq!(Oid::parse("A".repeat(40).as_bytes()), None);
        assert_eq!(Oid::parse("g".repeat(40).as_bytes()), None);
    }
}
