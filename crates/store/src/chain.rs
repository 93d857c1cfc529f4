//! The hash chain over a journal: each event is sealed together with everything before it, so that the seal
//! of the last event stands for the whole journal.
//!
//! A seal detects damage, not tampering: a process that can write the files can seal again.

use std::fmt;
use std::str::FromStr;

/// The input of the first seal of a journal, beside the project's name.
const BEGINNING: &[u8] = b"unstuck journal 1";

/// The hash of an event and of all before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal([u8; blake3::OUT_LEN]);

/// The sealed content of an event: everything in its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChainLink<'a> {
    pub(crate) seq: u64,
    pub(crate) at: i64,
    pub(crate) build: Option<u32>,
    pub(crate) task: Option<u32>,
    pub(crate) run: Option<i64>,
    pub(crate) why: Option<&'a str>,
    pub(crate) body: &'a str,
}

impl Seal {
    /// Returns the seal before the first event of a project.
    pub(crate) fn from_project(project: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(BEGINNING).update(project.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns the seal of the next event.
    pub(crate) fn next_seal(self, link: &ChainLink<'_>) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(&link.seq.to_le_bytes()).update(&link.at.to_le_bytes());
        for number in [link.build.map(i64::from), link.task.map(i64::from), link.run] {
            hasher.update(&[u8::from(number.is_some())]);
            hasher.update(&number.unwrap_or_default().to_le_bytes());
        }
        for text in [link.why, Some(link.body)] {
            let bytes = text.unwrap_or_default().as_bytes();
            hasher.update(&[u8::from(text.is_some())]);
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        Self(*hasher.finalize().as_bytes())
    }

    pub(crate) const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Creates a seal from bytes, if their length fits.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({self})")
    }
}

impl FromStr for Seal {
    type Err = blake3::HexError;

    fn from_str(hex: &str) -> Result<Self, Self::Err> {
        blake3::Hash::from_hex(hex).map(|hash| Self(*hash.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: ChainLink<'_> =
        ChainLink { seq: 1, at: 2, build: None, task: Some(3), run: None, why: None, body: "{}" };

    #[test]
    fn whatever_is_changed_changes_the_seal() {
        let beginning = Seal::from_project("shop");
        let sealed = beginning.next_seal(&LINK);
        for other in [
            ChainLink { seq: 2, ..LINK },
            ChainLink { at: 3, ..LINK },
            ChainLink { build: Some(0), ..LINK },
            ChainLink { build: Some(3), task: None, ..LINK },
            ChainLink { run: Some(0), ..LINK },
            ChainLink { why: Some(""), ..LINK },
            ChainLink { why: Some("{}"), body: "", ..LINK },
            ChainLink { body: "{ }", ..LINK },
        ] {
            assert_ne!(beginning.next_seal(&other), sealed, "{other:?}");
        }
        assert_ne!(Seal::from_project("bank").next_seal(&LINK), sealed);
        assert_ne!(sealed.next_seal(&LINK), sealed);
    }

    #[test]
    fn a_seal_is_read_as_it_was_written() {
        let seal = Seal::from_project("shop");
        assert_eq!(seal.to_string().parse::<Seal>().ok(), Some(seal));
        assert_eq!(Seal::from_bytes(seal.as_bytes()), Some(seal));
        assert_eq!(Seal::from_bytes(&seal.as_bytes()[1..]), None);
    }
}
