//! Changed files that the checks protect: tests, and the definitions of checks.
//!
//! They are put back before the checks, so that no check passes because it was edited. A change of tests is
//! work where the checks pass without it and with it. Where no check was red before the work, there is none
//! to make pass by editing it: a change without which the checks fail is a question.

use std::path::PathBuf;

use unstuck_core::fault::{Category, Fault, Files};
use unstuck_world::scope;
use unstuck_world::validate::{ChangePermissions, GateChecks, GateVerdict};
use unstuck_world::workspace::{Workspace, WorktreeContent};

use super::context::BuildContext;
use super::scope_check::join_path_names;
use super::settings::TaskSettings;
use super::wording::belongs_to_tests;
use crate::effects::EffectRequest;

/// Changed protected files that are not exempt, and the operator's decision about them.
pub(super) struct ProtectedChanges {
    paths: Vec<PathBuf>,
    said: ProtectedDecision,
}

/// The operator's decision about such a change.
enum ProtectedDecision {
    Nothing(Box<Fault>),
    Allowed,
    WithoutIt,
}

impl ProtectedChanges {
    /// Returns the files that the operator allowed to change.
    pub(super) fn allowed_paths(&self) -> &[PathBuf] {
        match self.said {
            ProtectedDecision::Allowed => &self.paths,
            ProtectedDecision::Nothing(_) | ProtectedDecision::WithoutIt => &[],
        }
    }

    /// Returns the question to the operator, unless they have decided already.
    fn make_question(&self, why: &str) -> Option<Fault> {
        match &self.said {
            ProtectedDecision::Nothing(fault) => {
                let mut fault = Fault::clone(fault);
                let paths = join_path_names(&self.paths);
                fault.message = format!("{} (validate.protect: {paths})", fault.message);
                Some(fault.with_cause(why))
            }
            ProtectedDecision::Allowed | ProtectedDecision::WithoutIt => None,
        }
    }
}

impl BuildContext {
    /// Returns the changed protected files that are not in `free`.
    pub(super) async fn find_protected_changes(
        &self,
        order: &EffectRequest,
        (task, checks): (&TaskSettings, &GateChecks),
        workspace: &Workspace,
        free: &[PathBuf],
    ) -> Result<Option<ProtectedChanges>, Fault> {
        if checks.is_firm() || checks.commands().is_empty() {
            return Ok(None);
        }
        let held = ChangePermissions { scope: &task.scope, free };
        let paths =
            checks.find_guarded_changes(workspace, &workspace.list_changes().await?, held).await?;
        let verdict = scope::ScopeVerdict { ask: paths.clone(), ..scope::ScopeVerdict::default() };
        let Some(fault) = verdict.to_fault(None) else { return Ok(None) };
        let said = if self.is_allowed_by_operator(order, &fault).await {
            ProtectedDecision::Allowed
        } else if self.is_declined_by_operator(order, &fault).await {
            ProtectedDecision::WithoutIt
        } else {
            ProtectedDecision::Nothing(Box::new(fault))
        };
        Ok(Some(ProtectedChanges { paths, said }))
    }

    /// Judges the verdict of checks that were run with protected files restored: whether any work
    /// is left, and the verdict with the files as the agent left them, which is `before`.
    pub(super) async fn judge_protected_changes(
        &self,
        order: &EffectRequest,
        gates: (&TaskSettings, &GateChecks),
        workspace: &Workspace,
        (guarded, before): (&ProtectedChanges, &WorktreeContent),
        verdict: GateVerdict,
    ) -> Result<GateVerdict, Fault> {
        let at = (order.effect.run, self.clock.now());
        // Checks that fail as they did before are judged later.
        let is_green = matches!(&verdict, GateVerdict::Green(seen) if seen.red_at_base.is_empty());
        if is_green && workspace.list_changes().await?.is_empty() {
            let Some(question) = guarded.make_question("Nothing else was changed.") else {
                let named = join_path_names(&guarded.paths);
                let message = format!("a person wants the work done without a change of {named}");
                let files = guarded.paths.iter().map(|path| path.display().to_string()).collect();
                let context = Files { files, ..Files::default() };
                return Err(Fault::scope_forbidden("scope", message, context));
            };
            workspace.restore_content(before, at.0, at.1).await?;
            return Err(question);
        }
        let is_red = matches!(&verdict, GateVerdict::Red { fault, .. }
            if fault.category() == Category::Validation);
        let are_tests = guarded.paths.iter().all(|path| belongs_to_tests(path));
        let is_worth_it = is_red || is_green && are_tests;
        let why = "The checks pass with this change and fail without it.";
        let question = guarded.make_question(why);
        // What was red must not pass by a changed test. Where it passes without the change, that is no
        // question.
        let may_be_with_it = is_green || self.was_base_green(order, gates.0);
        if !is_worth_it || question.is_none() || !may_be_with_it {
            return Ok(verdict);
        }
        let after = workspace.capture_content().await?;
        workspace.restore_content(before, at.0, at.1).await?;
        let with = self.run_checks(order, gates, workspace, &guarded.paths).await?;
        match (with, question) {
            (GateVerdict::Green(_), Some(question)) if is_red => Err(question),
            (GateVerdict::Green(seen), _) if is_green && seen.proves_less.is_empty() => {
                Ok(GateVerdict::Green(seen))
            }
            _ => {
                workspace.restore_content(&after, at.0, at.1).await?;
                Ok(verdict)
            }
        }
    }

    /// Returns whether no check was red before the work.
    pub(super) fn was_base_green(&self, order: &EffectRequest, task: &TaskSettings) -> bool {
        let known = self.baselines.find_baseline(order.build, &task.gates);
        known.is_some_and(|baseline| baseline.red_checks().next().is_none())
    }
}
