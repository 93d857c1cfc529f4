//! Errors and their tries.

use serde::{Deserialize, Serialize};
use unstuck_core::engine::Record;
use unstuck_core::signature::Signature;
use unstuck_core::time::Time;

/// What is known about one error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignatureRow {
    /// The error.
    pub signature: Signature,
    /// Failures that count against its tries.
    pub count: u32,
    /// Failures in all.
    pub total: u64,
    /// When it was first seen.
    pub first_seen: Time,
    /// When it was last seen.
    pub last_seen: Time,
}

impl SignatureRow {
    pub(super) const fn of(signature: Signature, record: &Record) -> Self {
        Self {
            signature,
            count: record.count,
            total: record.total,
            first_seen: record.first_seen,
            last_seen: record.last_seen,
        }
    }
}
