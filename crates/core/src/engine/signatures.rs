//! The project's record of its errors. Tries are counted only here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::question::Tried;
use crate::attempt::{Approach, Digest};
use crate::fault::{Class, Code};
use crate::signature::Signature;
use crate::time::Time;

/// Maximum number of failed approaches remembered per error and task; the oldest are dropped first. More
/// than the default limit of consecutive failures, so that a question lists all of them.
pub const APPROACHES_KEPT_MAX: usize = 16;

/// The record of one error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureRecord {
    /// Failures since it was last answered, recovered from or forgotten.
    pub count: u32,
    /// Generation of the counter. Each reset begins a new one, so that tries charged before are not
    /// given back.
    pub life: u32,
    /// Failures in total.
    pub total: u64,
    /// Time of the first failure.
    pub first_seen: Time,
    /// Time of the latest failure.
    pub last_seen: Time,
    /// The approaches that failed with the error, oldest first.
    pub failed: Vec<FailedApproach>,
}

/// An approach that failed with an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedApproach {
    /// The approach and the code that it failed with.
    #[serde(flatten)]
    pub tried: Tried,
    /// True if the approach was checked once more.
    pub confirmed: bool,
    /// True if the operator has answered since, so that the same approach may be checked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

/// The records of all errors of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signatures(BTreeMap<Signature, SignatureRecord>);

impl Signatures {
    /// Returns the record of an error.
    pub fn get(&self, signature: Signature) -> Option<&SignatureRecord> {
        self.0.get(&signature)
    }

    /// Returns all errors, in the order of their signatures.
    pub fn iter(&self) -> impl Iterator<Item = (Signature, &SignatureRecord)> {
        self.0.iter().map(|(signature, record)| (*signature, record))
    }

    /// Returns the number of failures that count against the error's tries.
    pub fn count(&self, signature: Signature) -> u32 {
        self.get(signature).map_or(0, |record| record.count)
    }

    /// Counts one more failure and returns the count and the generation of the counter.
    pub fn charge_try(&mut self, signature: Signature, at: Time) -> (u32, u32) {
        let record = self.record_seen(signature, at);
        record.count = record.count.saturating_add(1);
        (record.count, record.life)
    }

    /// Records a failure that counts against no tries.
    pub fn record_uncharged(&mut self, signature: Signature, at: Time) {
        self.record_seen(signature, at);
    }

    /// Remembers a failed approach, once: an approach that was only checked again is not another
    /// one.
    pub fn remember_approach(
        &mut self,
        signature: Signature,
        approach: &Arc<Approach>,
        code: Code,
    ) {
        let Some(record) = self.0.get_mut(&signature) else { return };
        let digest = approach.digest;
        let same = |failed: &FailedApproach| {
            failed.tried.approach.digest == digest && failed.confirmed && !failed.answered
        };
        if digest.is_some() && record.failed.iter().any(same) {
            return;
        }
        if record.failed.len() == APPROACHES_KEPT_MAX {
            record.failed.remove(0);
        }
        let tried = Tried { approach: Arc::clone(approach), code };
        record.failed.push(FailedApproach { tried, confirmed: false, answered: false });
    }

    /// Returns the approach with this digest that failed with this error since the operator last
    /// answered, and its number from 1.
    pub fn failed_before(
        &self,
        signature: Signature,
        digest: Digest,
    ) -> Option<(u32, &FailedApproach)> {
        let record = self.get(signature)?;
        (1..).zip(record.failed.iter().filter(|failed| !failed.answered)).find(|(_, failed)| {
            failed.tried.approach.digest == Some(digest)
                && failed.tried.code.row().class == Class::CodeError
        })
    }

    /// Marks an approach as checked once more.
    pub fn confirm_approach(&mut self, signature: Signature, digest: Digest) {
        let Some(record) = self.0.get_mut(&signature) else { return };
        for failed in &mut record.failed {
            if failed.tried.approach.digest == Some(digest) {
                failed.confirmed = true;
            }
        }
    }

    /// Gives back the tries that were charged in this generation of the counter.
    pub fn give_back(&mut self, signature: Signature, life: u32, count: u32) {
        if let Some(record) = self.0.get_mut(&signature)
            && record.life == life
        {
            record.count = record.count.saturating_sub(count);
        }
    }

    /// Resets the counter; the history stays.
    pub fn reset(&mut self, signature: Signature) {
        if let Some(record) = self.0.get_mut(&signature) {
            record.count = 0;
            record.life = record.life.wrapping_add(1);
        }
    }

    /// Lets the approaches that failed with this error be checked again.
    pub fn allow_repetition(&mut self, signature: Signature) {
        if let Some(record) = self.0.get_mut(&signature) {
            for failed in &mut record.failed {
                failed.answered = true;
            }
        }
    }

    /// Resets every counter.
    pub fn reset_all(&mut self) {
        for record in self.0.values_mut() {
            record.count = 0;
            record.life = record.life.wrapping_add(1);
        }
    }

    fn record_seen(&mut self, signature: Signature, at: Time) -> &mut SignatureRecord {
        let record = self
            .0
            .entry(signature)
            .or_insert_with(|| SignatureRecord { first_seen: at, ..SignatureRecord::default() });
        record.total += 1;
        record.last_seen = at;
        record
    }
}
