//! Signatures: the identity by which the same error is recognized again.
//!
//! The retry budget belongs to the error, so "the same error" must not depend on paths, line numbers, ids or
//! times, and must depend on what identifies it.

mod clean;
mod diagnosis;
mod mask;
mod place;
mod role;
mod select;
mod settings;
mod token;
mod words;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use clean::clean_output;
pub use clean::{HEAD_BYTES_MAX, LINE_BYTES_MAX, TAIL_BYTES_MAX};
pub(crate) use diagnosis::Diagnosis;
pub(crate) use mask::Fact;
pub(crate) use place::is_file;
pub(crate) use role::{LineRole, OutputLine};
pub(crate) use settings::is_settings_file;
pub(crate) use words::{find_part, has_negation};

use crate::code::Code;

/// The version of selection, masking and hashing. A stored signature is comparable only with signatures of
/// the same version.
pub const VERSION: u32 = 1;

/// The identity of an error: its code and a hash over its identifying parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    /// The code.
    pub code: Code,
    hash: u64,
}

/// Returns the diagnostic lines of an output as they are hashed: selected and masked, one per line.
pub fn masked_lines(output: &[u8]) -> String {
    let plain = clean_output(output);
    String::from_utf8_lossy(Diagnosis::from_plain_text(&plain).masked_text()).into_owned()
}

/// Returns the readable text of an output: bounded, without colors and control characters.
pub(crate) fn plain_text(output: &[u8]) -> String {
    String::from_utf8_lossy(&clean_output(output)).into_owned()
}

/// Number of leading bits of the hash that are kept: twelve hexadecimal digits.
const HASH_BITS: u32 = 48;

impl Signature {
    /// Computes the signature of a failure known by its output. Silent output is identified by its exit code.
    pub fn from_output(code: Code, place: &str, output: &str, exit: Option<i32>) -> Self {
        let plain = clean_output(output.as_bytes());
        Diagnosis::from_plain_text(&plain).compute_signature(code, place, exit)
    }

    /// Computes the signature of a failure known by exact parts, in order.
    pub fn from_parts(code: Code, place: &str, parts: &[&str]) -> Self {
        Self::from_bytes(code, place, parts.iter().map(|part| part.as_bytes()))
    }

    fn from_bytes<'a>(code: Code, place: &'a str, parts: impl Iterator<Item = &'a [u8]>) -> Self {
        // One buffer and one call: a diagnosis is short, and so is the buffer.
        let mut bytes = Vec::with_capacity(512);
        for part in [code.as_str().as_bytes(), place.as_bytes()].into_iter().chain(parts) {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        let mut first = [0; 8];
        first.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..8]);
        Self { code, hash: u64::from_be_bytes(first) >> (64 - HASH_BITS) }
    }

    /// Returns the full key, as stored and shown: `project:CODE:hash`.
    pub fn key(self, project: &str) -> String {
        format!("{project}:{self}")
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:012x}", self.code, self.hash)
    }
}

/// A text that is not a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a signature; it looks like LOGIC_ERROR:0123456789ab")]
pub struct ParseSignatureError(String);

impl FromStr for Signature {
    type Err = ParseSignatureError;

    fn from_str(text: &str) -> Result<Self, ParseSignatureError> {
        let read = || {
            let (code, hash) = text.rsplit_once(':')?;
            let digits = hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit());
            let hash = digits.then(|| u64::from_str_radix(hash, 16).ok())??;
            Some(Self { code: code.parse().ok()?, hash })
        };
        read().ok_or_else(|| ParseSignatureError(text.to_owned()))
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Signature {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Signature".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "What recognises the same error again: its code and a hash.",
            "type": "string",
            "pattern": "^[A-Z_]+:[0-9a-f]{12}$",
        })
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
