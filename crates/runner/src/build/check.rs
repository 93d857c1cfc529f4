//! The check of an agent's work before it lands: within the allowed paths, on the build's head, and
//! past the checks.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::{
    CHECK_FILES, Category, CheckStage, Fault, Files, Kind, Missing, Validation,
};
use unstuck_world::commands::{CommandPolicy, CommandRules};
use unstuck_world::scope;
use unstuck_world::validate::{
    BaselineFailure, BaselineMode, ChangePermissions, GateChecks, GateReport, GateVerdict,
    render_fence_denial, render_network_denial,
};
use unstuck_world::workspace::{ChangeKind, Workspace, WorktreeChange, render_ignored_names};

use super::egress::explain_refused_hosts;
use super::settings::TaskSettings;
use super::wording::{
    belongs_to_tests, changes_tests, collect_task_words, is_named_in, names_file,
};
use super::worker::TaskWorker;
use super::world::{BuildContext, failed_outcome};
use crate::decider::{StateQuery, StateQueryResult};
use crate::effects::{EffectRequest, lock_unpoisoned};

/// Why a change of a protected file is asked about.
const PROTECTED: &str = "The checks rest on it, so `validate.protect` protects it.";

impl BuildContext {
    pub(super) async fn perform_check(&self, order: &EffectRequest) -> EffectOutcome {
        match self.try_check(order).await {
            Ok(()) => EffectOutcome::Done,
            Err(fault) => failed_outcome(fault),
        }
    }

    pub(crate) async fn try_check(&self, order: &EffectRequest) -> Result<(), Fault> {
        let task = self.task_settings(order)?;
        let workspace = self.open_workspace(order).await?;
        let judged = self.judge_work(order, task, &workspace).await;
        // An outage says nothing about the work, and work that was taken back has a reason of its
        // own: denials count at the check that judges the work.
        if matches!(&judged, Err(fault) if fault.category() != Category::Validation) {
            return judged;
        }
        let Some(denied) = self.take_denial_fault(order, task) else { return judged };
        if !self.lacks_declaration(order, &denied).await {
            let passes = judged.is_ok() && !workspace.list_changes().await?.is_empty();
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
        self.enforce_scope(order, task, workspace).await?;
        let head = self.target_head(order).await?;
        workspace.integrate_onto(&head, order.effect.run, self.clock.now()).await?;
        self.rerun_setup(order, task, workspace).await?;
        self.run_gate(order, task, &task.gates.pre_commit, workspace).await
    }

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
    fn accepts_changed_tests(&self, order: &EffectRequest, task: &TaskSettings) -> bool {
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
        let signature = fault.signature;
        let looked = self.decider.query_state(StateQuery::GoesWithout { task, signature }).await;
        looked.is_ok_and(|seen| seen.is_yes())
    }

    /// Returns whether the operator allowed the action that a fault is about.
    pub(super) async fn is_allowed_by_operator(
        &self,
        order: &EffectRequest,
        fault: &Fault,
    ) -> bool {
        let task = order.effect.task;
        let signature = fault.signature;
        let allowed = self.decider.query_state(StateQuery::Allows { task, signature }).await;
        allowed.is_ok_and(|seen| seen.is_yes())
    }

    /// Returns the commands that the operator allowed the agents of a task in addition to the
    /// rules, without those on the denylist.
    pub(super) async fn allowed_commands(&self, order: &EffectRequest) -> BTreeSet<String> {
        let task = order.effect.task;
        match self.decider.query_state(StateQuery::AllowedCommands { task }).await {
            Ok(StateQueryResult::Commands(mut commands)) => {
                let list = self.command_denylist();
                commands.retain(|command| !list.is_never_allowed(command));
                commands
            }
            _ => BTreeSet::new(),
        }
    }

    /// Returns the denylist of commands, as the settings leave it.
    pub(super) fn command_denylist(&self) -> CommandPolicy {
        let unlisted = self.settings.unlisted.clone();
        CommandPolicy::new(&CommandRules { unlisted, ..CommandRules::default() })
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
                let mut fault = explain(*fault);
                if let Some(restored) = seen.restored {
                    let paths = join_path_names(&restored.paths);
                    fault.message = format!("{} (changed and put back: {paths})", fault.message);
                }
                let ignored = workspace.list_set_aside(order.effect.run);
                if !ignored.is_empty() {
                    let paths = render_ignored_names(&ignored);
                    fault.message = format!(
                        "{} (moved out of the worktree, because git ignores them and the commit \
                         would not have them: {paths})",
                        fault.message
                    );
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
        let held = ChangePermissions { scope: &task.scope, free };
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
                let words = collect_task_words(order);
                let named = |red: &BaselineFailure| red.failures.are_named_in(&words);
                seen.restored.is_some()
                    || !workspace.list_set_aside(order.effect.run).is_empty()
                    || order.task.validate.is_some()
                    || seen.red_at_base.iter().any(named)
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

    /// Tells the operator that a check or a hook could not run because of the sandbox.
    pub(super) async fn remark_sandbox_block(&self, order: &EffectRequest, fault: &Fault) {
        if let Some(text) = render_network_denial(fault).or_else(|| render_fence_denial(fault)) {
            self.send_remark(order, &text).await;
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
            words.push(format!("`{command}` fails as it did before the work began."));
        }
        for command in &seen.flaky {
            words
                .push(format!("`{command}` failed and then passed without a change: it is flaky."));
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
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = context.output.split(|c| !is_part(c)).collect();
    let meant = withheld.iter().find(|name| name.len() > 2 && words.contains(name.as_str()));
    if let Some(name) = meant {
        context.output = format!(
            "{}\n[{name} is set in your shell, and checks do not get it: `env = [\"{name}\"]` below \
             [commands] in unstuck.toml passes it on]",
            context.output.trim_end()
        );
    }
    let message = format!("{} fails as it did before the work began", context.command);
    Fault::validation_red_base("validate:base", message, context)
}

/// Returns changed files that the checks protect and that the task's words name, individually or as
/// tests: the operator is asked whether their change is wanted.
async fn find_named_protected(
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
    let held = ChangePermissions { scope: &task.scope, free: &[] };
    checks.find_guarded_changes(workspace, &changes, held).await
}

/// Judges all changed files against the task's scope.
pub(super) async fn judge_scope(
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
