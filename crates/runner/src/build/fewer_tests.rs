//! A check that passes with fewer tests than before the work.
//!
//! Where a check was red, that is how a lie looks. Where all were green, it may be the work itself: a dead
//! module goes, and its tests with it. The agent is told once; where the task takes something away, or the
//! agent leaves it so, a person is asked.

use std::path::PathBuf;

use unstuck_core::fault::{EXPECTED_CHANGE, Fault};
use unstuck_world::scope;
use unstuck_world::workspace::{ChangeKind, Workspace, WorktreeChange};

use super::context::BuildContext;
use super::settings::TaskSettings;
use super::wording::{belongs_to_tests, collect_task_words, removes_something, removes_tests};
use crate::decider::StateQuery;
use crate::effects::{EffectRequest, lock_unpoisoned};

impl BuildContext {
    /// Fails with what the agent is told about fewer tests, or with the question for a person, unless the
    /// task's words or a person say that they go.
    pub(super) async fn judge_fewer_tests(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        workspace: &Workspace,
        fault: Fault,
    ) -> Result<(), Fault> {
        let words = collect_task_words(order);
        if removes_tests(&words) {
            return Ok(());
        }
        if !self.was_base_green(order, task) {
            return Err(fault);
        }
        let ask = find_lost_test_files(&workspace.list_changes().await?);
        let verdict = scope::ScopeVerdict { ask, ..scope::ScopeVerdict::default() };
        let Some(question) = verdict.to_fault(None) else { return Err(fault) };
        // A permission for good is about the file, not about tests that later work may drop.
        if self.is_allowed_by_operator(order, &question).await
            && self.is_confirmed(StateQuery::AllowsNow { task: order.effect.task }).await
        {
            return Ok(());
        }
        if self.is_declined_by_operator(order, &question).await {
            self.restore_declined_files(order, workspace, &verdict.ask).await?;
            return Err(fault);
        }
        let is_told = !lock_unpoisoned(&self.told_fewer).insert(order.effect.task);
        let is_expected = removes_something(&words);
        if !is_told && !is_expected {
            return Err(fault);
        }
        let mut question = question.with_cause(format!("{}.", fault.message));
        if is_expected {
            EXPECTED_CHANGE.clone_into(&mut question.source);
        }
        Err(question)
    }
}

/// Returns the changed files that may have lost tests: the deleted ones and those of tests, or else all.
fn find_lost_test_files(changes: &[WorktreeChange]) -> Vec<PathBuf> {
    let existing = || changes.iter().filter(|change| change.kind != ChangeKind::Added);
    let holds_tests = |change: &&WorktreeChange| {
        change.kind == ChangeKind::Deleted || belongs_to_tests(&change.path)
    };
    let likely: Vec<_> = existing().filter(holds_tests).map(|change| change.path.clone()).collect();
    if likely.is_empty() {
        return existing().map(|change| change.path.clone()).collect();
    }
    likely
}
