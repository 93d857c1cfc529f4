//! The check of changed files against the scope of the task, and the operator's decisions about
//! files outside it and about protected files.

use std::path::PathBuf;

use unstuck_core::fault::{CHECK_FILES, Fault, Files};
use unstuck_world::scope;
use unstuck_world::validate::{ChangePermissions, GateChecks};
use unstuck_world::workspace::{ChangeKind, Workspace, WorktreeChange};

use super::context::BuildContext;
use super::settings::TaskSettings;
use super::wording::{
    belongs_to_tests, changes_tests, collect_task_words, is_named_in, names_file,
};
use crate::decider::StateQuery;
use crate::effects::{EffectRequest, lock_unpoisoned};

/// Why a change of a protected file is asked about.
const PROTECTED: &str = "The checks rest on it, so `validate.protect` protects it.";

impl BuildContext {
    /// Takes back changes outside the allowed paths at once; changes that need an approval stay
    /// until the answer.
    pub(crate) async fn enforce_scope(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let mut verdict = judge_scope(task, workspace).await?;
        let mut protected = Vec::new();
        let takes_tests = self.accepts_changed_tests(order, task);
        for checks in task.gates.all_gates() {
            let mut named = find_named_protected(order, task, checks, workspace).await?;
            named.retain(|path| {
                let is_taken = takes_tests && belongs_to_tests(path);
                !is_taken && !verdict.ask.contains(path)
            });
            verdict.ask.extend_from_slice(&named);
            protected.extend(named);
        }
        let outside = verdict.out_of_scope();
        if !outside.is_empty() {
            let run = order.effect.run;
            let now = self.clock.now();
            let taken = workspace.revert_work(&outside, run, now).await?;
            return verdict.to_fault(Some(&taken.patch)).map_or(Ok(()), Err);
        }
        match verdict.to_fault(None) {
            Some(fault) if self.is_allowed_by_operator(order, &fault).await => Ok(()),
            Some(fault) if self.is_declined_by_operator(order, &fault).await => {
                self.restore_declined_files(order, workspace, &verdict.ask).await
            }
            Some(_) if self.should_warn_first(order, task, &verdict.ask) => {
                Err(self.warn_about_check_files(order, workspace, &verdict.ask).await?)
            }
            Some(fault) if protected.is_empty() => Err(fault),
            Some(mut fault) => {
                let paths = join_path_names(&protected);
                fault.message = format!("{} (validate.protect: {paths})", fault.message);
                Err(fault.with_cause(PROTECTED))
            }
            None => Ok(()),
        }
    }

    /// Returns whether changed tests are accepted without a question: the task's words say that
    /// tests change, and no check was red before, so that there is none to make pass by changing
    /// it.
    pub(super) fn accepts_changed_tests(&self, order: &EffectRequest, task: &TaskSettings) -> bool {
        self.was_base_green(order, task) && changes_tests(&collect_task_words(order))
    }

    /// Returns whether to tell the agent first that the files it added change how the checks run:
    /// once per task, and not if the task's own words name one of them.
    fn should_warn_first(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        paths: &[PathBuf],
    ) -> bool {
        let words = collect_task_words(order);
        paths.iter().all(|path| task.scope.tells_agent_first(path) && !is_named_in(&words, path))
            && lock_unpoisoned(&self.told_first).insert(order.effect.task)
    }

    /// Takes back the files that change how the checks run, and returns the fault that tells the
    /// agent so.
    async fn warn_about_check_files(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
        paths: &[PathBuf],
    ) -> Result<Fault, Fault> {
        let taken = workspace.revert_work(paths, order.effect.run, self.clock.now()).await?;
        let files = paths.iter().map(|path| path.display().to_string()).collect();
        let context = Files { files, patch: Some(taken.patch.display().to_string()) };
        let message = format!(
            "{} changes how the checks run, so it was taken back: the work has to pass the checks as \
             they are. If the goal needs the file, add it again, and a person is asked about it",
            join_path_names(paths)
        );
        Ok(Fault::scope_forbidden(CHECK_FILES, message, context))
    }

    /// Restores files that the operator wants unchanged. If no other change is left, the agent has
    /// to find another way.
    pub(super) async fn restore_declined_files(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
        paths: &[PathBuf],
    ) -> Result<(), Fault> {
        let taken = workspace.revert_work(paths, order.effect.run, self.clock.now()).await?;
        let named = join_path_names(paths);
        if workspace.list_changes().await?.is_empty() {
            let files = paths.iter().map(|path| path.display().to_string()).collect();
            let context = Files { files, patch: Some(taken.patch.display().to_string()) };
            let message = format!("a person wants the work done without a change of {named}");
            return Err(Fault::scope_forbidden("scope", message, context));
        }
        self.send_remark(order, &format!("I put back {named}, as you chose.")).await;
        Ok(())
    }

    /// Returns whether the operator wants the work done without the change that a fault is about.
    pub(super) async fn is_declined_by_operator(
        &self,
        order: &EffectRequest,
        fault: &Fault,
    ) -> bool {
        let task = order.effect.task;
        self.is_confirmed(StateQuery::GoesWithout { task, signature: fault.signature }).await
    }

    /// Returns whether the operator allowed the action that a fault is about.
    pub(super) async fn is_allowed_by_operator(
        &self,
        order: &EffectRequest,
        fault: &Fault,
    ) -> bool {
        let task = order.effect.task;
        self.is_confirmed(StateQuery::Allows { task, signature: fault.signature }).await
    }

    /// Takes back all changes that need an approval, because the operator denied it.
    pub(super) async fn try_take_back(&self, order: &EffectRequest) -> Result<(), Fault> {
        let task = self.task_settings(order)?;
        let workspace = self.open_workspace(order).await?;
        let verdict = judge_scope(task, &workspace).await?;
        let paths = [verdict.out_of_scope(), verdict.ask].concat();
        if !paths.is_empty() {
            workspace.revert_work(&paths, order.effect.run, self.clock.now()).await?;
        }
        Ok(())
    }
}

/// Returns changed files that the checks protect and that the task's words name, individually or as
/// tests: the operator is asked whether their change is wanted.
pub(super) async fn find_named_protected(
    order: &EffectRequest,
    task: &TaskSettings,
    checks: &GateChecks,
    workspace: &Workspace,
) -> Result<Vec<PathBuf>, Fault> {
    if checks.is_firm() || checks.commands().is_empty() {
        return Ok(Vec::new());
    }
    let words = collect_task_words(order);
    let mut changes = workspace.list_changes().await?;
    let is_meant = changes_tests(&words);
    let is_named = |change: &WorktreeChange| {
        names_file(&words, &change.path) || is_meant && belongs_to_tests(&change.path)
    };
    changes.retain(|change| change.kind != ChangeKind::Added && is_named(change));
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let held = ChangePermissions { scope: &task.scope, free: &[], inline_tests: true };
    checks.find_guarded_changes(workspace, &changes, held).await
}

/// Judges all changed files against the task's scope.
async fn judge_scope(
    task: &TaskSettings,
    workspace: &Workspace,
) -> Result<scope::ScopeVerdict, Fault> {
    let changes = workspace.list_changes().await?;
    Ok(task.scope.judge_paths(changes.iter().map(|change| change.path.as_path())))
}

pub(super) fn join_path_names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}
