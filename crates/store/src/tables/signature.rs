//! The table of errors and their retry counts.

use serde::{Deserialize, Serialize};
use unstuck_core::engine::SignatureRecord;
use unstuck_core::signature::Signature;
use unstuck_core::time::Time;

/// The record of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignatureRow {
    /// The signature of the error.
    pub signature: Signature,
    /// Number of failures that count against its retry budget.
    pub count: u32,
    /// Total number of failures.
    pub total: u64,
    /// The time of the first occurrence.
    pub first_seen: Time,
    /// The time of the last occurrence.
    pub last_seen: Time,
}

impl SignatureRow {
    pub(super) const fn from_record(signature: Signature, record: &SignatureRecord) -> Self {
        Self {
            signature,
            count: record.count,
            total: record.total,
            first_seen: record.first_seen,
            last_seen: record.last_seen,
        }
    }
}
