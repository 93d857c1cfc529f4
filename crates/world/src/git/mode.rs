//! The kind of object that git holds at a path.

use serde::{Deserialize, Serialize};

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
