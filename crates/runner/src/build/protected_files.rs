//! Changed files that the checks protect: tests, and the definitions of checks.
//!
//! They are put back before the checks, so that no check passes because it was edited. A change of tests is
//! work where the checks pass without it and with it. Where no check was red before the work, there is none
//! to make pass by editing it: a change without which the checks fail is a question.

use std::path::PathBuf;

use unstuck_core::fault::{Category, Fault, Files, Kind, Validation};
use unstuck_world::scope;
use unstuck_world::validate::{ChangePermissions, GateChecks, GateReport, GateVerdict};
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
    fn make_question(&self) -> Option<Fault> {
        match &self.said {
            ProtectedDecision::Nothing(fault) => {
                let mut fault = Fault::clone(fault);
                let paths = join_path_names(&self.paths);
                fault.message = format!("{} (validate.protect: {paths})", fault.message);
                Some(fault)
            }
            ProtectedDecision::Allowed | ProtectedDecision::WithoutIt => None,
        }
    }
}

/// Returns the check that a fault is about, if it is about a red check.
const fn find_red_check(fault: &Fault) -> Option<&Validation> {
    match &fault.kind {
        Kind::ValidationPreCommit(red)
        | Kind::ValidationPrePush(red)
        | Kind::ValidationPrePr(red) => Some(red),
        _ => None,
    }
}

/// Returns the question with the check that fails without the change, as its evidence.
fn with_check(mut question: Fault, red: Option<&Validation>) -> Fault {
    if let Kind::PermissionFileAccess(of) = &mut question.kind {
        of.check = red.cloned();
    }
    question
}

/// Returns the sentences that say which check fails without the change, and how many tests ran before the work
/// and with the change where the numbers differ. `before` has the numbers before the work, by command.
fn explain_dependence<'a>(
    red: Option<&Validation>,
    before: impl Iterator<Item = (&'a str, u64)>,
    with: &GateReport,
) -> String {
    let first = match red {
        Some(red) => format!("`{}` passes with this change and fails without it.", red.command),
        None => "The checks pass with this change and fail without it.".to_owned(),
    };
    let has = |list: &[String], command: &str| list.iter().any(|known| known == command);
    let counted =
        before.filter(|(command, _)| has(&with.green, command) && !has(&with.flaky, command));
    let numbers = counted.filter_map(|(command, before)| {
        let now = match with.tests_run.get(command) {
            Some(now) if *now == before => return None,
            Some(now) => now.to_string(),
            None => "reports no number".to_owned(),
        };
        let tests = if before == 1 { "test" } else { "tests" };
        Some(format!("`{command}` ran {before} {tests} before and {now} now."))
    });
    let said: Vec<String> = std::iter::once(first).chain(numbers).collect();
    said.join(" ")
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
        let held = ChangePermissions { scope: &task.scope, free, inline_tests: true };
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
            let Some(question) = guarded.make_question() else {
                let named = join_path_names(&guarded.paths);
                let message = format!("a person wants the work done without a change of {named}");
                let files = guarded.paths.iter().map(|path| path.display().to_string()).collect();
                let context = Files { files, ..Files::default() };
                return Err(Fault::scope_forbidden("scope", message, context));
            };
            workspace.restore_content(before, at.0, at.1).await?;
            return Err(question.with_cause("Nothing else was changed."));
        }
        let is_red = matches!(&verdict, GateVerdict::Red { fault, .. }
            if fault.category() == Category::Validation);
        let are_tests = guarded.paths.iter().all(|path| belongs_to_tests(path));
        let is_worth_it = is_red || is_green && are_tests;
        // What was red must not pass by a changed test. Where it passes without the change, that is no
        // question.
        let may_be_with_it = is_green || self.was_base_green(order, gates.0);
        let Some(question) = guarded.make_question().filter(|_| is_worth_it && may_be_with_it)
        else {
            return Ok(verdict);
        };
        let after = workspace.capture_content().await?;
        workspace.restore_content(before, at.0, at.1).await?;
        let with = self.run_checks(order, gates, workspace, &guarded.paths).await?;
        match (with, &verdict) {
            (GateVerdict::Green(seen), GateVerdict::Red { fault, .. }) if is_red => {
                let base = self.baselines.find_baseline(order.build, &gates.0.gates);
                let red = find_red_check(fault);
                let before = base.iter().flat_map(|base| base.tests_run());
                let why = explain_dependence(red, before, &seen);
                Err(with_check(question, red).with_cause(why))
            }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_check_and_both_numbers_of_tests_are_named() {
        let red = Validation { command: "make test".to_owned(), ..Validation::default() };
        let with = |ran: Option<u64>| GateReport {
            green: vec!["make test".to_owned()],
            tests_run: ran.map(|ran| ("make test".to_owned(), ran)).into_iter().collect(),
            ..GateReport::default()
        };
        let before = || BTreeMap::from([("make test", 2), ("make slow", 7)]).into_iter();
        let said = |ran| explain_dependence(Some(&red), before(), &with(ran));
        let first = "`make test` passes with this change and fails without it.";
        assert_eq!(said(Some(1)), format!("{first} `make test` ran 2 tests before and 1 now."));
        assert_eq!(said(Some(2)), first);
        let unknown = format!("{first} `make test` ran 2 tests before and reports no number now.");
        assert_eq!(said(None), unknown);
        // A check that was flaky reports no number that could be compared.
        let flaky = GateReport { flaky: vec!["make test".to_owned()], ..with(None) };
        assert_eq!(explain_dependence(Some(&red), before(), &flaky), first);
    }
}
