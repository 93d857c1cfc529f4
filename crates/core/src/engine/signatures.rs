//! What the project remembers about its errors. This is the one place where tries are counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::question::Tried;
use crate::attempt::{Approach, Digest};
use crate::fault::{Class, Code};
use crate::signature::Signature;
use crate::time::Time;

/// How many attempts of one error are remembered; the oldest go first.
pub const APPROACHES_KEPT_MAX: usize = 8;

/// What is known about one error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Failures since it was last answered, recovered from or forgotten.
    pub count: u32,
    /// Moves on with each reset, so that nothing older is given back.
    pub life: u32,
    /// Failures in all.
    pub total: u64,
    /// When it was first seen.
    pub first_seen: Time,
    /// When it was last seen.
    pub last_seen: Time,
    /// What was tried and failed with it, oldest first.
    pub failed: Vec<FailedApproach>,
}

/// An approach that failed with an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedApproach {
    /// What it did and how it failed.
    #[serde(flatten)]
    pub tried: Tried,
    /// It was checked once more and failed again.
    pub confirmed: bool,
    /// A person has answered since: the same approach may be checked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

/// What is known about all errors of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signatures(BTreeMap<Signature, Record>);

impl Signatures {
    /// What is known about an error.
    pub fn get(&self, signature: Signature) -> Option<&Record> {
        self.0.get(&signature)
    }

    /// All errors, in the order of their signatures.
    pub fn iter(&self) -> impl Iterator<Item = (Signature, &Record)> {
        self.0.iter().map(|(signature, record)| (*signature, record))
    }

    /// Failures that count against its tries.
    pub fn count(&self, signature: Signature) -> u32 {
        self.get(signature).map_or(0, |record| record.count)
    }

    /// Counts one more failure and tells how many there are and in which life of the counter.
    pub fn charge(&mut self, signature: Signature, at: Time) -> (u32, u32) {
        let record = self.seen(signature, at);
        record.count = record.count.saturating_add(1);
        (record.count, record.life)
    }

    /// Notes a failure that counts against nothing.
    pub fn note(&mut self, signature: Signature, at: Time) {
        self.seen(signature, at);
    }

    /// Remembers what failed, once: an approach that was only checked again is no other one.
    pub fn remember(&mut self, signature: Signature, approach: &Arc<Approach>, code: Code) {
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

    /// The approach with this digest that failed with this error since a person last answered, and
    /// its number from 1.
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
    pub fn confirm(&mut self, signature: Signature, digest: Digest) {
        let Some(record) = self.0.get_mut(&signature) else { return };
        for failed in &mut record.failed {
            if failed.tried.approach.digest == Some(digest) {
                failed.confirmed = true;
            }
        }
    }

    /// Gives back what was charged in this life of the counter.
    pub fn give_back(&mut self, signature: Signature, life: u32, count: u32) {
        if let Some(record) = self.0.get_mut(&signature)
            && record.life == life
        {
            record.count = record.count.saturating_sub(count);
        }
    }

    /// Starts the counter over; what happened stays known.
    pub fn reset(&mut self, signature: Signature) {
        if let Some(record) = self.0.get_mut(&signature) {
            record.count = 0;
            record.life = record.life.wrapping_add(1);
        }
    }

    /// Lets the approaches that failed with this error be checked again.
    pub fn let_repeat(&mut self, signature: Signature) {
        if let Some(record) = self.0.get_mut(&signature) {
            for failed in &mut record.failed {
                failed.answered = true;
            }
        }
    }

    /// Starts every counter over.
    pub fn reset_all(&mut self) {
        for record in self.0.values_mut() {
            record.count = 0;
            record.life = record.life.wrapping_add(1);
        }
    }

    fn seen(&mut self, signature: Signature, at: Time) -> &mut Record {
        let record = self
            .0
            .entry(signature)
            .or_insert_with(|| Record { first_seen: at, ..Record::default() });
        record.total += 1;
        record.last_seen = at;
        record
    }
}
