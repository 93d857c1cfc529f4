//! Changed files that the checks protect: tests, and the definitions of checks.
//!
//! They are put back before the checks, so that no check passes because it was edited. A change of tests is
//! work where the checks pass without it and with it. Where no check was red before the work, there is none
//! to make pass by editing it: a change without which the checks fail is a question.

use std::path::PathBuf;

use unstuck_core::fault::{Category, Fault, Files};
use unstuck_world::scope;
use unstuck_world::validate::{Checks, Held, Verdict};
use unstuck_world::workspace::{Content, Workspace};

use super::check::names;
use super::settings::TaskSettings;
use super::wording::belongs_to_tests;
use super::world::Shared;
use crate::world::Order;

/// Changed protected files that are not exempt, and the operator's decision about them.
pub(super) struct Guarded {
    paths: Vec<PathBuf>,
    said: Said,
}

/// The operator's decision about such a change.
enum Said {
    Nothing(Box<Fault>),
    Allowed,
    WithoutIt,
}

impl Guarded {
    /// Returns the files that the operator allowed to change.
    pub(super) fn allowed(&self) -> &[PathBuf] {
        match self.said {
            Said::Allowed => &self.paths,
            Said::Nothing(_) | Said::WithoutIt => &[],
        }
    }

    /// Returns the question to the operator, unless they have decided already.
    fn question(&self, why: &str) -> Option<Fault> {
        match &self.said {
            Said::Nothing(fault) => {
                let mut fault = Fault::clone(fault);
                let paths = names(&self.paths);
                fault.message = format!("{} (validate.protect: {paths})", fault.message);
                Some(fault.caused_by(why))
            }
            Said::Allowed | Said::WithoutIt => None,
        }
    }
}

impl Shared {
    /// Returns the changed protected files that are not in `free`.
    pub(super) async fn guarded(
        &self,
        order: &Order,
        (task, checks): (&TaskSettings, &Checks),
        workspace: &Workspace,
        free: &[PathBuf],
    ) -> Result<Option<Guarded>, Fault> {
        if checks.is_firm() || checks.commands().is_empty() {
            return Ok(None);
        }
        let held = Held { scope: &task.scope, free };
        let paths = checks.guarded(workspace, &workspace.changes().await?, held).await?;
        let verdict = scope::Verdict { ask: paths.clone(), ..scope::Verdict::default() };
        let Some(fault) = verdict.fault(None) else { return Ok(None) };
        let said = if self.allowed(order, &fault).await {
            Said::Allowed
        } else if self.goes_without(order, &fault).await {
            Said::WithoutIt
        } else {
            Said::Nothing(Box::new(fault))
        };
        Ok(Some(Guarded { paths, said }))
    }

    /// Judges the verdict of checks that were run with protected files restored: whether any work
    /// is left, and the verdict with the files as the agent left them, which is `before`.
    pub(super) async fn try_guarded(
        &self,
        order: &Order,
        gates: (&TaskSettings, &Checks),
        workspace: &Workspace,
        (guarded, before): (&Guarded, &Content),
        verdict: Verdict,
    ) -> Result<Verdict, Fault> {
        let at = (order.effect.run, self.clock.now());
        // Checks that fail as they did before are judged later.
        let is_green = matches!(&verdict, Verdict::Green(seen) if seen.red_at_base.is_empty());
        if is_green && workspace.changes().await?.is_empty() {
            let Some(question) = guarded.question("Nothing else was changed.") else {
                let named = names(&guarded.paths);
                let message = format!("a person wants the work done without a change of {named}");
                let files = guarded.paths.iter().map(|path| path.display().to_string()).collect();
                let context = Files { files, ..Files::default() };
                return Err(Fault::scope_forbidden("scope", message, context));
            };
            workspace.go_back_to(before, at.0, at.1).await?;
            return Err(question);
        }
        let is_red = matches!(&verdict, Verdict::Red { fault, .. }
            if fault.category() == Category::Validation);
        let are_tests = guarded.paths.iter().all(|path| belongs_to_tests(path));
        let is_worth_it = is_red || is_green && are_tests;
        let why = "The checks pass with this change and fail without it.";
        let question = guarded.question(why);
        // What was red must not pass by a changed test. Where it passes without the change, that is no
        // question.
        let may_be_with_it = is_green || self.was_green(order, gates.0);
        if !is_worth_it || question.is_none() || !may_be_with_it {
            return Ok(verdict);
        }
        let after = workspace.content().await?;
        workspace.go_back_to(before, at.0, at.1).await?;
        let with = self.run_checks(order, gates, workspace, &guarded.paths).await?;
        match (with, question) {
            (Verdict::Green(_), Some(question)) if is_red => Err(question),
            (Verdict::Green(seen), _) if is_green && seen.proves_less.is_empty() => {
                Ok(Verdict::Green(seen))
            }
            _ => {
                workspace.go_back_to(&after, at.0, at.1).await?;
                Ok(verdict)
            }
        }
    }

    /// Returns whether no check was red before the work.
    pub(super) fn was_green(&self, order: &Order, task: &TaskSettings) -> bool {
        let known = self.baselines.known(order.build, &task.gates);
        known.is_some_and(|baseline| baseline.red().next().is_none())
    }
}
