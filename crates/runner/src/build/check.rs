//! The check of an agent's work before it lands: within the allowed paths, on the build's head, and
//! past the checks.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_core::fault::{Category, CheckStage, Fault, Kind, Missing, Validation};
use unstuck_core::tell::brief::describe_flaky_check;
use unstuck_world::validate::{
    BaselineMode, ChangePermissions, GateChecks, GateReport, GateVerdict, find_withheld,
};
use unstuck_world::workspace::{COMMITTED_SIZE, Workspace, WorktreeChange, render_path_names};

use super::context::BuildContext;
use super::egress::explain_refused_hosts;
use super::red_base::OldFailures;
use super::scope_check::{find_named_protected, join_path_names};
use super::settings::{TaskSettings, TaskWorker};
use super::wording::{belongs_to_tests, calls_tests_wrong, changes_tests, collect_task_words};
use crate::decider::{StateQuery, StateQueryResult};
use crate::effects::EffectRequest;

impl BuildContext {
    pub(crate) async fn try_check(&self, order: &EffectRequest) -> Result<(), Fault> {
        let task = self.task_settings(order)?;
        let workspace = self.open_workspace(order).await?;
        let judged = self.judge_work(order, task, &workspace).await;
        // An outage says nothing about the work, and work that was taken back has a reason of its
        // own: denials count at the check that judges the work.
        if matches!(&judged, Err(fault) if fault.category() != Category::Validation) {
            return judged;
        }
        let changed = workspace.list_changes().await?.into_iter().map(|change| change.path);
        let changed: BTreeSet<PathBuf> = changed.collect();
        let lacks_file = self.denied.lacks_file(order.effect.task, &changed);
        let Some(denied) = self.take_denial_fault(order, task) else { return judged };
        if !self.lacks_declaration(order, &denied).await {
            let passes = judged.is_ok() && !changed.is_empty() && !lacks_file;
            if passes || self.is_allowed_by_operator(order, &denied).await {
                return judged;
            }
        }
        Err(match judged {
            Ok(()) => denied,
            Err(fault) => denied.with_cause(fault),
        })
    }

    /// Returns the denials of the latest attempt as a fault. They count once.
    pub(super) fn take_denial_fault(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
    ) -> Option<Fault> {
        let denied = self.denied.take_fault(order.effect.task, &self.command_denylist());
        denied.map(|fault| with_agent_name(fault, &task.worker))
    }

    async fn judge_work(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        self.restore_task_marks(order, workspace).await?;
        self.enforce_scope(order, task, workspace).await?;
        let head = self.target_head(order).await?;
        workspace.integrate_onto(&head, order.effect.run, self.clock.now()).await?;
        self.rerun_setup(order, task, workspace).await?;
        self.run_gate(order, task, &task.gates.pre_commit, workspace).await
    }

    /// Runs the checks of a gate. A check that fails as it did at the base passes if the settings
    /// or the operator say so.
    pub(super) async fn run_gate(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        checks: &GateChecks,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let egress = self.open_check_shell(order).await?.1;
        let explain = |fault| explain_refused_hosts(fault, egress.as_ref());
        // Protected files that the task names needed an approval, so those still present are
        // allowed.
        let mut free = find_named_protected(order, task, checks, workspace).await?;
        let was_asked = !self.accepts_changed_tests(order, task);
        let mut allows_tests = was_asked && free.iter().any(|path| belongs_to_tests(path));
        let gates = (task, checks);
        let guarded = self.find_protected_changes(order, gates, workspace, &free).await?;
        if let Some(guarded) = &guarded {
            allows_tests |= guarded.allowed_paths().iter().any(|path| belongs_to_tests(path));
            free.extend_from_slice(guarded.allowed_paths());
        }
        let held = guarded.as_ref().filter(|guarded| guarded.allowed_paths().is_empty());
        let before = match held {
            Some(_) => Some(workspace.capture_content().await?),
            None => None,
        };
        let mut verdict = self.run_checks(order, gates, workspace, &free).await?;
        if let (Some(guarded), Some(before)) = (held, &before) {
            let tried =
                self.judge_protected_changes(order, gates, workspace, (guarded, before), verdict);
            verdict = Box::pin(tried).await?;
        }
        // A permission for good is about the file, not about tests that later work may drop.
        allows_tests = allows_tests
            && self.is_confirmed(StateQuery::AllowsNow { task: order.effect.task }).await;
        if let GateVerdict::Green(seen) = &mut verdict
            && allows_tests
        {
            seen.proves_less.clear();
        }
        let verdict =
            self.judge_red_baseline((order, checks.gate()), task, workspace, verdict).await?;
        self.note_check_results(order, checks, &verdict).await;
        match verdict {
            GateVerdict::NothingToCheck => Ok(()),
            GateVerdict::Green(seen) => {
                self.remark_findings(order, &seen).await;
                require_remaining_change(&seen, &workspace.list_changes().await?)?;
                if checks.gate() == CheckStage::PreCommit {
                    self.confirm_in_fresh_checkout(order, gates, workspace, (&seen, allows_tests))
                        .await?;
                }
                Ok(())
            }
            GateVerdict::Red { fault, seen } => {
                self.remark_findings(order, &seen).await;
                let mut fault = self.explain_by_surroundings(order, gates, explain(*fault)).await;
                if let Some(restored) = seen.restored {
                    let paths = join_path_names(&restored.paths);
                    fault.message = format!("{} (changed and put back: {paths})", fault.message);
                }
                let set_aside = workspace.list_set_aside(order.effect.run);
                if !set_aside.is_empty() {
                    let paths = render_path_names(&set_aside);
                    let note = format!(
                        "The checks ran without files that the commit would not have, because git ignores them \
                         or they are above {COMMITTED_SIZE}: {paths}"
                    );
                    self.send_remark(order, &format!("{note}.")).await;
                    fault.message = format!("{} ({note})", fault.message);
                    fault = fault.with_output_note(&note);
                }
                Err(fault)
            }
        }
    }

    /// Runs the checks of a gate once, with the protected files in `free` as the agent left them.
    pub(super) async fn run_checks(
        &self,
        order: &EffectRequest,
        (task, checks): (&TaskSettings, &GateChecks),
        workspace: &Workspace,
        free: &[PathBuf],
    ) -> Result<GateVerdict, Fault> {
        let known = self.baselines.find_baseline(order.build, &task.gates);
        let at = (order.effect.run, self.clock.now());
        let (shell, egress) = self.open_check_shell(order).await?;
        let words = collect_task_words(order);
        let inline_tests = changes_tests(&words) || calls_tests_wrong(&words);
        let held = ChangePermissions { scope: &task.scope, free, inline_tests };
        let run = Box::pin(checks.run(workspace, held, known.as_deref(), &shell, at));
        if checks.commands().is_empty() {
            return run.await;
        }
        let changed = workspace.list_changes().await?;
        match workspace.watch_check(&changed, at, run).await? {
            Ok(verdict) => {
                require_change_kept(&changed, &workspace.list_changes().await?, &verdict)?;
                Ok(verdict)
            }
            Err(fault) => {
                self.remark_sandbox_block(order, &fault).await;
                Err(explain_refused_hosts(fault, egress.as_ref()))
            }
        }
    }

    /// Judges checks that fail exactly as they did at the base: they pass if the settings or the
    /// operator say so. Without such a decision they belong to a task that names the test, brings
    /// the check along, changed it, put its work into files that git ignores, or changed no file;
    /// otherwise the operator is asked.
    async fn judge_red_baseline(
        &self,
        (order, gate): (&EffectRequest, CheckStage),
        task: &TaskSettings,
        workspace: &Workspace,
        verdict: GateVerdict,
    ) -> Result<GateVerdict, Fault> {
        let GateVerdict::Green(seen) = verdict else { return Ok(verdict) };
        // A fresh checkout decides later, regardless of other files in the worktree.
        if let Some(fault) = seen.proves_less.first()
            && !self.can_confirm(gate, &seen)
            && let Err(fault) = self.judge_fewer_tests(order, task, workspace, fault.clone()).await
        {
            if fault.category() != Category::Validation {
                return Err(fault);
            }
            return Ok(GateVerdict::Red { fault: Box::new(fault), seen });
        }
        if seen.red_at_base.is_empty() {
            return Ok(GateVerdict::Green(seen));
        }
        let belongs = match self.query_base_belongs(order).await {
            Some(false) => return Ok(GateVerdict::Green(seen)),
            Some(true) => true,
            // The work changed no file, so there is nothing to compare.
            None if task.gates.baseline == BaselineMode::Compare => {
                if !workspace.list_changes().await?.is_empty() {
                    return Ok(GateVerdict::Green(seen));
                }
                true
            }
            None => {
                let known = self.baselines.find_baseline(order.build, &task.gates);
                let old = OldFailures::new(&seen.red_at_base, known.as_deref());
                seen.restored.is_some()
                    || !workspace.list_set_aside(order.effect.run).is_empty()
                    || order.task.validate.is_some()
                    || old.belong_to(&collect_task_words(order))
                    || workspace.list_changes().await?.is_empty()
            }
        };
        let fault = seen.red_at_base[0].fault.clone();
        let fault = if belongs {
            fault
        } else {
            Box::new(to_red_base_fault(*fault, &self.settings.withheld))
        };
        Ok(GateVerdict::Red { fault, seen })
    }

    /// Returns whether the checks that are red at the base belong to the work, if the operator has
    /// decided that.
    async fn query_base_belongs(&self, order: &EffectRequest) -> Option<bool> {
        let looked =
            self.decider.query_state(StateQuery::BaseBelongs { task: order.effect.task }).await;
        match looked {
            Ok(StateQueryResult::Said(said)) => said,
            _ => None,
        }
    }

    /// Tells the operator about restored files, red checks of the base, and flaky checks.
    async fn remark_findings(&self, order: &EffectRequest, seen: &GateReport) {
        let mut words = Vec::new();
        if let Some(restored) = &seen.restored {
            let paths = join_path_names(&restored.paths);
            words.push(format!(
                "The agent's change of {paths} was put back before the checks (validate.protect)."
            ));
        }
        for red in &seen.red_at_base {
            let command = &red.command;
            words.push(format!(
                "`{command}` still fails, only with what failed before the work began."
            ));
        }
        for command in &seen.flaky {
            words.push(describe_flaky_check(command));
        }
        for (command, files) in &seen.leftovers {
            words.push(format!(
                "`{command}` passes only where it has not run before: it failed until {} was removed, which \
                 an earlier run had left.",
                render_path_names(files)
            ));
        }
        for text in words {
            self.send_remark(order, &text).await;
        }
    }
}

/// Requires that some change is left after protected files were restored.
fn require_remaining_change(seen: &GateReport, changes: &[WorktreeChange]) -> Result<(), Fault> {
    let Some(restored) = seen.restored.as_ref().filter(|_| changes.is_empty()) else {
        return Ok(());
    };
    let protected = join_path_names(&restored.paths);
    let message = format!(
        "nothing is left of the change: {protected} is protected (validate.protect) and was put back \
         before the checks"
    );
    let what = format!("permission to change {protected}, which validate.protect protects");
    Err(Fault::precondition_missing("validate.protect", message, Missing { what }))
}

/// Requires that the checks kept the change: a check that resets or cleans the tree has tested
/// other content.
fn require_change_kept(
    before: &[WorktreeChange],
    after: &[WorktreeChange],
    verdict: &GateVerdict,
) -> Result<(), Fault> {
    let restored = match verdict {
        GateVerdict::Green(seen) | GateVerdict::Red { seen, .. } => seen.restored.as_ref(),
        GateVerdict::NothingToCheck => None,
    };
    let is_lost = |change: &&WorktreeChange| {
        let path = &change.path;
        let put_back = restored.is_some_and(|restored| restored.paths.contains(path));
        !put_back && !after.iter().any(|left| left.path == *path)
    };
    let lost: Vec<PathBuf> = before.iter().filter(is_lost).map(|lost| lost.path.clone()).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let message =
        format!("the checks undo the work: {} is gone after them", join_path_names(&lost));
    let what = "checks that leave the files of the work as they are".to_owned();
    Err(Fault::precondition_missing("validate:check", message, Missing { what }))
}

/// Returns the question whether a failure from before belongs to the work. If its output names a
/// variable that the operator has set and checks do not get, it explains how to pass it on.
fn to_red_base_fault(fault: Fault, withheld: &[String]) -> Fault {
    let mut context = match fault.kind {
        Kind::ValidationPreCommit(context)
        | Kind::ValidationPrePush(context)
        | Kind::ValidationPrePr(context) => context,
        _ => Validation::default(),
    };
    if let Some(name) = find_withheld(&context.output, withheld) {
        context.output = format!(
            "{}\n[{name} is set in your shell, and checks do not get it: `env = [\"{name}\"]` below \
             [commands] in unstuck.toml passes it on]",
            context.output.trim_end()
        );
    }
    let message = format!("{} still fails with what failed before the work began", context.command);
    Fault::validation_red_base("validate:base", message, context)
}

/// Returns the fault with the name of the agent that asked.
fn with_agent_name(mut fault: Fault, worker: &TaskWorker) -> Fault {
    let name = match worker {
        TaskWorker::Agent(agent) => agent.provider_name(),
        TaskWorker::Model(_) => None,
    };
    if let Kind::PermissionCommandBlocked(of) | Kind::PermissionFileAccess(of) = &mut fault.kind {
        of.agent = name.map(str::to_owned);
    }
    fault
}
