//! The check of an agent's work before it lands: within the allowed paths, on the build's head, and
//! past the checks.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_core::engine::Outcome;
use unstuck_core::fault::{CHECK_FILES, Category, Fault, Files, Gate, Kind, Missing, Validation};
use unstuck_world::commands::{Commands, Rules};
use unstuck_world::scope;
use unstuck_world::validate::{
    BaselineMode, Checks, Held, RedAtBase, Seen, Verdict, kept_by_fence, kept_from_network,
};
use unstuck_world::workspace::{Change, ChangeKind, Workspace, name_ignored};

use super::egress::explain_refused;
use super::settings::TaskSettings;
use super::wording::{belongs_to_tests, changes_tests, is_named_in, names_file, words_of};
use super::worker::Worker;
use super::world::{Shared, failed};
use crate::decider::{Look, Looked};
use crate::lock::lock;
use crate::world::Order;

/// Why a change of a protected file is asked about.
const PROTECTED: &str = "The checks rest on it, so `validate.protect` protects it.";

impl Shared {
    pub(super) async fn check(&self, order: &Order) -> Outcome {
        match self.try_check(order).await {
            Ok(()) => Outcome::Done,
            Err(fault) => failed(fault),
        }
    }

    pub(crate) async fn try_check(&self, order: &Order) -> Result<(), Fault> {
        let task = self.task(order)?;
        let workspace = self.workspace(order).await?;
        let judged = self.judge(order, task, &workspace).await;
        // An outage says nothing about the work, and work that was taken back has a reason of its
        // own: denials count at the check that judges the work.
        if matches!(&judged, Err(fault) if fault.category() != Category::Validation) {
            return judged;
        }
        let Some(denied) = self.take_denied(order, task) else { return judged };
        if !self.misses_declaration(order, &denied).await {
            let passes = judged.is_ok() && !workspace.changes().await?.is_empty();
            if passes || self.allowed(order, &denied).await {
                return judged;
            }
        }
        Err(match judged {
            Ok(()) => denied,
            Err(fault) => denied.caused_by(fault),
        })
    }

    /// Returns the denials of the latest attempt as a fault. They count once.
    pub(super) fn take_denied(&self, order: &Order, task: &TaskSettings) -> Option<Fault> {
        let denied = self.denied.take(order.effect.task, &self.never_run());
        denied.map(|fault| asked_by(fault, &task.worker))
    }

    async fn judge(
        &self,
        order: &Order,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        self.fence(order, task, workspace).await?;
        let head = self.head(order).await?;
        workspace.integrate(&head, order.effect.run, self.clock.now()).await?;
        self.set_up_again(order, task, workspace).await?;
        self.pass(order, task, &task.gates.pre_commit, workspace).await
    }

    /// Takes back changes outside the allowed paths at once; changes that need an approval stay
    /// until the answer.
    pub(crate) async fn fence(
        &self,
        order: &Order,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let mut verdict = look_over(task, workspace).await?;
        let mut protected = Vec::new();
        let takes_tests = self.takes_changed_tests(order, task);
        for checks in task.gates.all() {
            let mut named = named_and_guarded(order, task, checks, workspace).await?;
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
            let taken = workspace.take_back_work(&outside, run, now).await?;
            return verdict.fault(Some(&taken.patch)).map_or(Ok(()), Err);
        }
        match verdict.fault(None) {
            Some(fault) if self.allowed(order, &fault).await => Ok(()),
            Some(fault) if self.goes_without(order, &fault).await => {
                self.put_back(order, workspace, &verdict.ask).await
            }
            Some(_) if self.tells_first(order, task, &verdict.ask) => {
                Err(self.tell_first(order, workspace, &verdict.ask).await?)
            }
            Some(fault) if protected.is_empty() => Err(fault),
            Some(mut fault) => {
                let paths = names(&protected);
                fault.message = format!("{} (validate.protect: {paths})", fault.message);
                Err(fault.caused_by(PROTECTED))
            }
            None => Ok(()),
        }
    }

    /// Returns whether changed tests are accepted without a question: the task's words say that
    /// tests change, and no check was red before, so that there is none to make pass by changing
    /// it.
    fn takes_changed_tests(&self, order: &Order, task: &TaskSettings) -> bool {
        self.was_green(order, task) && changes_tests(&words_of(order))
    }

    /// Returns whether to tell the agent first that the files it added change how the checks run:
    /// once per task, and not if the task's own words name one of them.
    fn tells_first(&self, order: &Order, task: &TaskSettings, paths: &[PathBuf]) -> bool {
        let words = words_of(order);
        paths.iter().all(|path| task.scope.tells_first(path) && !is_named_in(&words, path))
            && lock(&self.told_first).insert(order.effect.task)
    }

    /// Takes back the files that change how the checks run, and returns the fault that tells the
    /// agent so.
    async fn tell_first(
        &self,
        order: &Order,
        workspace: &Workspace,
        paths: &[PathBuf],
    ) -> Result<Fault, Fault> {
        let taken = workspace.take_back_work(paths, order.effect.run, self.clock.now()).await?;
        let files = paths.iter().map(|path| path.display().to_string()).collect();
        let context = Files { files, patch: Some(taken.patch.display().to_string()) };
        let message = format!(
            "{} changes how the checks run, so it was taken back: the work has to pass the checks as \
             they are. If the goal needs the file, add it again, and a person is asked about it",
            names(paths)
        );
        Ok(Fault::scope_forbidden(CHECK_FILES, message, context))
    }

    /// Restores files that the operator wants unchanged. If no other change is left, the agent has
    /// to find another way.
    async fn put_back(
        &self,
        order: &Order,
        workspace: &Workspace,
        paths: &[PathBuf],
    ) -> Result<(), Fault> {
        let taken = workspace.take_back_work(paths, order.effect.run, self.clock.now()).await?;
        let named = names(paths);
        if workspace.changes().await?.is_empty() {
            let files = paths.iter().map(|path| path.display().to_string()).collect();
            let context = Files { files, patch: Some(taken.patch.display().to_string()) };
            let message = format!("a person wants the work done without a change of {named}");
            return Err(Fault::scope_forbidden("scope", message, context));
        }
        self.remark(order, &format!("I put back {named}, as you chose.")).await;
        Ok(())
    }

    /// Returns whether the operator wants the work done without the change that a fault is about.
    pub(super) async fn goes_without(&self, order: &Order, fault: &Fault) -> bool {
        let task = order.effect.task;
        let signature = fault.signature;
        let looked = self.decider.look(Look::GoesWithout { task, signature }).await;
        looked.is_ok_and(|seen| seen.is())
    }

    /// Returns whether the operator allowed the action that a fault is about.
    pub(super) async fn allowed(&self, order: &Order, fault: &Fault) -> bool {
        let task = order.effect.task;
        let signature = fault.signature;
        let allowed = self.decider.look(Look::Allows { task, signature }).await;
        allowed.is_ok_and(|seen| seen.is())
    }

    /// Returns the commands that the operator allowed the agents of a task in addition to the
    /// rules, without those on the denylist.
    pub(super) async fn allowed_commands(&self, order: &Order) -> BTreeSet<String> {
        let task = order.effect.task;
        match self.decider.look(Look::AllowedCommands { task }).await {
            Ok(Looked::Commands(mut commands)) => {
                let list = self.never_run();
                commands.retain(|command| !list.holds_never(command));
                commands
            }
            _ => BTreeSet::new(),
        }
    }

    /// Returns the denylist of commands, as the settings leave it.
    pub(super) fn never_run(&self) -> Commands {
        let unlisted = self.settings.unlisted.clone();
        Commands::new(&Rules { unlisted, ..Rules::default() })
    }

    /// Runs the checks of a gate. A check that fails as it did at the base passes if the settings
    /// or the operator say so.
    pub(super) async fn pass(
        &self,
        order: &Order,
        task: &TaskSettings,
        checks: &Checks,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let egress = self.shell_of_checks(order).await?.1;
        let explain = |fault| explain_refused(fault, egress.as_ref());
        // Protected files that the task names needed an approval, so those still present are
        // allowed.
        let mut free = named_and_guarded(order, task, checks, workspace).await?;
        let was_asked = !self.takes_changed_tests(order, task);
        let mut allows_tests = was_asked && free.iter().any(|path| belongs_to_tests(path));
        let gates = (task, checks);
        let guarded = self.guarded(order, gates, workspace, &free).await?;
        if let Some(guarded) = &guarded {
            allows_tests |= guarded.allowed().iter().any(|path| belongs_to_tests(path));
            free.extend_from_slice(guarded.allowed());
        }
        let held = guarded.as_ref().filter(|guarded| guarded.allowed().is_empty());
        let before = match held {
            Some(_) => Some(workspace.content().await?),
            None => None,
        };
        let mut verdict = self.run_checks(order, gates, workspace, &free).await?;
        if let (Some(guarded), Some(before)) = (held, &before) {
            let tried = self.try_guarded(order, gates, workspace, (guarded, before), verdict);
            verdict = Box::pin(tried).await?;
        }
        if let Verdict::Green(seen) = &mut verdict
            && allows_tests
        {
            seen.proves_less.clear();
        }
        let verdict = self.judge_base((order, checks.gate()), task, workspace, verdict).await?;
        self.note_checked(order, checks, &verdict).await;
        match verdict {
            Verdict::NothingToCheck => Ok(()),
            Verdict::Green(seen) => {
                self.say(order, &seen).await;
                require_left(&seen, &workspace.changes().await?)?;
                if checks.gate() == Gate::PreCommit {
                    self.confirm(order, gates, workspace, (&seen, allows_tests)).await?;
                }
                Ok(())
            }
            Verdict::Red { fault, seen } => {
                self.say(order, &seen).await;
                let mut fault = explain(*fault);
                if let Some(restored) = seen.restored {
                    let paths = names(&restored.paths);
                    fault.message = format!("{} (changed and put back: {paths})", fault.message);
                }
                let ignored = workspace.set_aside_of(order.effect.run);
                if !ignored.is_empty() {
                    let paths = name_ignored(&ignored);
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
        order: &Order,
        (task, checks): (&TaskSettings, &Checks),
        workspace: &Workspace,
        free: &[PathBuf],
    ) -> Result<Verdict, Fault> {
        let known = self.baselines.known(order.build, &task.gates);
        let at = (order.effect.run, self.clock.now());
        let (shell, egress) = self.shell_of_checks(order).await?;
        let held = Held { scope: &task.scope, free };
        let run = Box::pin(checks.run(workspace, held, known.as_deref(), &shell, at));
        if checks.commands().is_empty() {
            return run.await;
        }
        let changed = workspace.changes().await?;
        match workspace.watch_check(&changed, at, run).await? {
            Ok(verdict) => {
                require_kept(&changed, &workspace.changes().await?, &verdict)?;
                Ok(verdict)
            }
            Err(fault) => {
                self.say_kept(order, &fault).await;
                Err(explain_refused(fault, egress.as_ref()))
            }
        }
    }

    /// Judges checks that fail exactly as they did at the base: they pass if the settings or the
    /// operator say so. Without such a decision they belong to a task that names the test, brings
    /// the check along, changed it, put its work into files that git ignores, or changed no file;
    /// otherwise the operator is asked.
    async fn judge_base(
        &self,
        (order, gate): (&Order, Gate),
        task: &TaskSettings,
        workspace: &Workspace,
        verdict: Verdict,
    ) -> Result<Verdict, Fault> {
        let Verdict::Green(seen) = verdict else { return Ok(verdict) };
        // A fresh checkout decides later, regardless of other files in the worktree.
        if let Some(fault) = seen.proves_less.first()
            && !self.confirms(gate, &seen)
            && let Err(fault) = self.judge_fewer(order, task, workspace, fault.clone()).await
        {
            if fault.category() != Category::Validation {
                return Err(fault);
            }
            return Ok(Verdict::Red { fault: Box::new(fault), seen });
        }
        if seen.red_at_base.is_empty() {
            return Ok(Verdict::Green(seen));
        }
        let belongs = match self.base_belongs(order).await {
            Some(false) => return Ok(Verdict::Green(seen)),
            Some(true) => true,
            // The work changed no file, so there is nothing to compare.
            None if task.gates.baseline == BaselineMode::Compare => {
                if !workspace.changes().await?.is_empty() {
                    return Ok(Verdict::Green(seen));
                }
                true
            }
            None => {
                let words = words_of(order);
                let named = |red: &RedAtBase| red.failures.are_named_in(&words);
                seen.restored.is_some()
                    || !workspace.set_aside_of(order.effect.run).is_empty()
                    || order.task.validate.is_some()
                    || seen.red_at_base.iter().any(named)
                    || workspace.changes().await?.is_empty()
            }
        };
        let fault = seen.red_at_base[0].fault.clone();
        let fault =
            if belongs { fault } else { Box::new(red_base(*fault, &self.settings.withheld)) };
        Ok(Verdict::Red { fault, seen })
    }

    /// Returns whether the checks that are red at the base belong to the work, if the operator has
    /// decided that.
    async fn base_belongs(&self, order: &Order) -> Option<bool> {
        let looked = self.decider.look(Look::BaseBelongs { task: order.effect.task }).await;
        match looked {
            Ok(Looked::Said(said)) => said,
            _ => None,
        }
    }

    /// Tells the operator that a check or a hook could not run because of the sandbox.
    pub(super) async fn say_kept(&self, order: &Order, fault: &Fault) {
        if let Some(text) = kept_from_network(fault).or_else(|| kept_by_fence(fault)) {
            self.remark(order, &text).await;
        }
    }

    /// Tells the operator about restored files, red checks of the base, and flaky checks.
    async fn say(&self, order: &Order, seen: &Seen) {
        let mut words = Vec::new();
        if let Some(restored) = &seen.restored {
            let paths = names(&restored.paths);
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
            self.remark(order, &text).await;
        }
    }
}

/// Requires that some change is left after protected files were restored.
fn require_left(seen: &Seen, changes: &[Change]) -> Result<(), Fault> {
    let Some(restored) = seen.restored.as_ref().filter(|_| changes.is_empty()) else {
        return Ok(());
    };
    let protected = names(&restored.paths);
    let message = format!(
        "nothing is left of the change: {protected} is protected (validate.protect) and was put back \
         before the checks"
    );
    let what = format!("permission to change {protected}, which validate.protect protects");
    Err(Fault::precondition_missing("validate.protect", message, Missing { what }))
}

/// Requires that the checks kept the change: a check that resets or cleans the tree has tested
/// other content.
fn require_kept(before: &[Change], after: &[Change], verdict: &Verdict) -> Result<(), Fault> {
    let restored = match verdict {
        Verdict::Green(seen) | Verdict::Red { seen, .. } => seen.restored.as_ref(),
        Verdict::NothingToCheck => None,
    };
    let is_lost = |change: &&Change| {
        let path = &change.path;
        let put_back = restored.is_some_and(|restored| restored.paths.contains(path));
        !put_back && !after.iter().any(|left| left.path == *path)
    };
    let lost: Vec<PathBuf> = before.iter().filter(is_lost).map(|lost| lost.path.clone()).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let message = format!("the checks undo the work: {} is gone after them", names(&lost));
    let what = "checks that leave the files of the work as they are".to_owned();
    Err(Fault::precondition_missing("validate:check", message, Missing { what }))
}

/// Returns the question whether a failure from before belongs to the work. If its output names a
/// variable that the operator has set and checks do not get, it explains how to pass it on.
fn red_base(fault: Fault, withheld: &[String]) -> Fault {
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
async fn named_and_guarded(
    order: &Order,
    task: &TaskSettings,
    checks: &Checks,
    workspace: &Workspace,
) -> Result<Vec<PathBuf>, Fault> {
    if checks.is_firm() || checks.commands().is_empty() {
        return Ok(Vec::new());
    }
    let words = words_of(order);
    let mut changes = workspace.changes().await?;
    let is_meant = changes_tests(&words);
    let is_named = |change: &Change| {
        names_file(&words, &change.path) || is_meant && belongs_to_tests(&change.path)
    };
    changes.retain(|change| change.kind != ChangeKind::Added && is_named(change));
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let held = Held { scope: &task.scope, free: &[] };
    checks.guarded(workspace, &changes, held).await
}

/// Judges all changed files against the task's scope.
pub(super) async fn look_over(
    task: &TaskSettings,
    workspace: &Workspace,
) -> Result<scope::Verdict, Fault> {
    let changes = workspace.changes().await?;
    Ok(task.scope.judge(changes.iter().map(|change| change.path.as_path())))
}

pub(super) fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

/// Returns the fault with the name of the agent that asked.
fn asked_by(mut fault: Fault, worker: &Worker) -> Fault {
    let name = match worker {
        Worker::Agent(agent) => agent.name(),
        Worker::Model(_) => None,
    };
    if let Kind::PermissionCommandBlocked(of) | Kind::PermissionFileAccess(of) = &mut fault.kind {
        of.agent = name.map(str::to_owned);
    }
    fault
}
