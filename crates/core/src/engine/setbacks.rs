//! The setbacks of a task: the failures that its next attempt has to get past, and the approaches
//! that failed on the way. The agent's next prompt is built from them. A job has repairs of its
//! script instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::RunId;
use super::question::Tried;
use super::signatures::APPROACHES_KEPT_MAX;
use crate::fault::{Class, Code, Fault, Kind};

/// The setbacks of one task so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setbacks {
    /// The latest failure of the work itself, until the work got past it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest: Option<Arc<Fault>>,
    /// The fault of the latest red check, until a check is green.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<Arc<Fault>>,
    /// The fault that the operator was asked about, while the work has not failed since the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<Arc<Fault>>,
    /// Number of approaches that failed since the operator last answered.
    pub failed: u32,
    /// The latest of those approaches, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// Approaches that failed before an answer of the operator or in an earlier build, oldest
    /// first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Tried>,
    /// The run that failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

impl Setbacks {
    /// Returns whether there were no setbacks.
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Records a fault that a run of the task met; `ends` says whether it ended the run's step.
    pub(super) fn record_fault(&mut self, run: RunId, fault: &Arc<Fault>, ends: bool) {
        if ends {
            self.run = Some(run);
        }
        if fault.class() == Class::CodeError {
            self.latest = Some(Arc::clone(fault));
            self.answered = None;
        }
        if is_red_check(fault) {
            self.red = Some(Arc::clone(fault));
        }
    }

    /// Records a failed approach. An approach that was only checked again is not counted as another
    /// one.
    pub(super) fn record_failed_approach(&mut self, tried: &Tried) {
        if remember_approach(&mut self.tried, tried) {
            self.failed = self.failed.saturating_add(1);
        }
    }

    /// Records the operator's answer to the question about `asked`: approaches are numbered anew.
    pub(super) fn record_answer(&mut self, asked: Option<Arc<Fault>>) {
        self.answered = asked;
        self.failed = 0;
        for tried in std::mem::take(&mut self.tried) {
            remember_approach(&mut self.before, &tried);
        }
    }

    /// Returns the number of the approach that a task takes after a failure, among all approaches and
    /// among those at this error. `met` says how often the error was met. An agent that meets it
    /// repeatedly in one run has tried as many approaches.
    pub(crate) fn next_approach(&self, met: u32) -> (u32, u32) {
        let met = met.max(1);
        (self.failed.max(met).saturating_add(1), met.saturating_add(1))
    }

    /// Clears the failures, because the work got past them.
    pub(super) fn clear_failures(&mut self) {
        self.latest = None;
        self.red = None;
    }
}

fn is_red_check(fault: &Fault) -> bool {
    matches!(
        fault.kind,
        Kind::ValidationPreCommit(_) | Kind::ValidationPrePush(_) | Kind::ValidationPrePr(_)
    )
}

/// Adds an approach to the latest ones and returns whether it is a new one.
fn remember_approach(known: &mut Vec<Tried>, tried: &Tried) -> bool {
    let digest = tried.approach.digest;
    let same = |known: &&mut Tried| digest.is_some() && known.approach.digest == digest;
    if let Some(known) = known.iter_mut().find(same) {
        // It failed as it did the first time; only its repetition was refused.
        if tried.code != Code::LogicRepeatedApproach {
            known.code = tried.code;
        }
        return false;
    }
    if known.len() == APPROACHES_KEPT_MAX {
        known.remove(0);
    }
    known.push(tried.clone());
    true
}

/// The approaches that failed in tasks that have not been done since, by the task's name: a new
/// build of the same task begins with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct UnfinishedTasks(BTreeMap<String, Vec<Tried>>);

impl UnfinishedTasks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn record_failed_approach(&mut self, task: &str, tried: &Tried) {
        remember_approach(self.0.entry(task.to_owned()).or_default(), tried);
    }

    pub(super) fn failed_approaches(&self, task: &str) -> Vec<Tried> {
        self.0.get(task).cloned().unwrap_or_default()
    }

    pub(super) fn remove_task(&mut self, task: &str) {
        self.0.remove(task);
    }
}

/// The repairs of a job's script in the current firing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repairs {
    /// Number of times that a fault called for a repair. It numbers the repairs: one that is
    /// resumed after a crash keeps its number, even if a question was answered meanwhile.
    pub called_for: u32,
    /// The failed repairs, oldest first.
    pub failed: Vec<Tried>,
    /// The latest fault of the script itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broke: Option<Arc<Fault>>,
}

impl Repairs {
    /// Returns whether the script neither broke nor called for a repair.
    pub(super) const fn is_none(&self) -> bool {
        self.called_for == 0 && self.failed.is_empty() && self.broke.is_none()
    }

    /// Remembers a failed repair; the oldest are dropped first.
    pub(super) fn remember_failed(&mut self, tried: Tried) {
        if self.failed.len() == APPROACHES_KEPT_MAX {
            self.failed.remove(0);
        }
        self.failed.push(tried);
    }
}
