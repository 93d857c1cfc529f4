//! A check that passes with fewer tests than before the work.
//!
//! Where a check was red, that is how a lie looks. Where all were green, it may be the work itself: a dead
//! module goes, and its tests with it. The agent is told once; where the task takes something away, or the
//! agent leaves it so, a person is asked.

use std::path::PathBuf;

use unstuck_core::fault::Fault;
use unstuck_world::scope;
use unstuck_world::workspace::{Change, ChangeKind, Workspace};

use super::settings::TaskSettings;
use super::wording::{belongs_to_tests, removes_something, removes_tests, words_of};
use super::world::Shared;
use crate::lock::lock;
use crate::world::Order;

impl Shared {
    /// Fails with what the agent is told about fewer tests, or with the question for a person, unless the
    /// task's words or a person say that they go.
    pub(super) async fn judge_fewer(
        &self,
        order: &Order,
        task: &TaskSettings,
        workspace: &Workspace,
        fault: Fault,
    ) -> Result<(), Fault> {
        let words = words_of(order);
        if removes_tests(&words) {
            return Ok(());
        }
        if !self.was_green(order, task) {
            return Err(fault);
        }
        let ask = without_tests(workspace.changes().await?);
        let verdict = scope::Verdict { ask, ..scope::Verdict::default() };
        let Some(question) = verdict.fault(None) else { return Err(fault) };
        if self.allowed(order, &question).await {
            return Ok(());
        }
        let is_told = !lock(&self.told_fewer).insert(order.effect.task);
        if self.goes_without(order, &question).await || !is_told && !removes_something(&words) {
            return Err(fault);
        }
        Err(question.caused_by(format!("{}.", fault.message)))
    }
}

/// The changed files that tests may be gone from: those that are gone or belong to tests, or all.
fn without_tests(changes: Vec<Change>) -> Vec<PathBuf> {
    let changed = || changes.iter().filter(|change| change.kind != ChangeKind::Added);
    let is_likely =
        |change: &&Change| change.kind == ChangeKind::Deleted || belongs_to_tests(&change.path);
    let likely: Vec<_> = changed().filter(is_likely).map(|change| change.path.clone()).collect();
    if likely.is_empty() {
        return changed().map(|change| change.path.clone()).collect();
    }
    likely
}
