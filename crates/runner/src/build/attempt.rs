//! An attempt at a task: the agent or model that works in its worktree, and the result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{AgentAction, Approach, DiffChange};
use unstuck_core::engine::{Command, EffectOutcome, RedCheck, RunNote, Start};
use unstuck_core::fault::{BudgetSpent, CheckStage, Code, Fault, Input, Kind, text_rules};
use unstuck_core::policy::Amount;
use unstuck_core::text::{NO_CONNECTION, provider_display_name};
use unstuck_world::agent::{ACTIVITIES_QUEUED_MAX, Agent, AgentAssignment, AgentEnd};
use unstuck_world::commands::NetworkIsolation;
use unstuck_world::egress::EgressProxy;
use unstuck_world::process::Wall;
use unstuck_world::validate::{
    BaselineMode, BaselineRequirement, GateChecks, render_service_denial,
};
use unstuck_world::workspace::{Workspace, WorktreeContent};

use super::agent_follower::{ACTIONS_MAX, AgentFollower};
use super::context::BuildContext;
use super::denials::{is_file_denial, parse_declared_keys, relativize_denied_paths};
use super::egress::explain_refused_hosts;
use super::last_words::{parse_blocked_need, parse_open_need};
use super::sandbox::AgentNetwork;
use super::scope_check::join_path_names;
use super::settings::{TaskGates, TaskSettings, TaskWorker};
use super::wording::collect_task_words;
use crate::decider::StateQuery;
use crate::effects::{EffectRequest, EffectResult, failed_outcome, lock_unpoisoned};

/// Maximum number of denials of one attempt that are noted in the journal.
const NOTED_MAX: usize = 20;
/// The reason for which a command is refused that no permission covers.
const NEVER_RUNS: &str = "it is on the list of commands that never run";
/// The reason for which an agent program refuses a tool call.
const NOT_PERMITTED: &str = "commands.allowed does not list it";
/// The reason for which a command is refused that the settings block.
const BLOCKED_BY_SETTINGS: &str = "commands.blocked lists it";
/// The reason for which an agent program refuses a file.
const GUARDED: &str = "the agent's own program guards this file";

/// The result of an agent's or model's work.
pub(super) struct AttemptWork {
    pub(super) end: AgentEnd,
    pub(super) actions: Vec<AgentAction>,
    /// The cost that has not been reported yet.
    pub(super) spent: Amount,
    /// The content of the worktree when the agent said that the task is done.
    pub(super) content: Option<WorktreeContent>,
}

impl BuildContext {
    /// Performs an attempt. Returns `None` if it was stopped.
    pub(crate) async fn perform_attempt(
        &self,
        order: &EffectRequest,
        start: Start,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        Box::pin(self.try_attempt(order, start, stop))
            .await
            .unwrap_or_else(|fault| Some(failed_outcome(fault).into()))
    }

    async fn try_attempt(
        &self,
        order: &EffectRequest,
        start: Start,
        stop: &CancellationToken,
    ) -> Result<Option<EffectResult>, Fault> {
        let task = self.task_settings(order)?;
        task.worker.check_ready().await?;
        self.require_disk_space()?;
        let workspace = self.prepare_worktree(order, start).await?;
        if self.is_for_build() {
            self.adopt_landed_work(order, &workspace).await?;
        }
        if self.is_for_build() {
            // The measurement can be stopped halfway, like the agent that would follow it.
            let measured = Box::pin(self.measure_baseline(order, task, &workspace));
            match stop.run_until_cancelled(measured).await {
                Some(measured) => measured?,
                None => return Ok(None),
            }
        }
        workspace.note_ignored(start).await?;
        let worked = match &task.worker {
            TaskWorker::Agent(agent) => {
                let (mut assignment, _socket) =
                    self.make_assignment(order, start, task, &workspace).await?;
                let egress = self.open_egress(order, task, &mut assignment).await?;
                let wall = agent.wall_for(&assignment);
                let held = wall.try_out();
                workspace.note_repository(held, &wall).await?;
                let reached = match &egress {
                    _ if agent.has_own_sandbox(&assignment) => AgentNetwork::OwnSandbox,
                    Some(_) => AgentNetwork::AllowedHosts,
                    None => AgentNetwork::ByCommands(NetworkIsolation::Open),
                };
                self.remark_sandbox(order, || (held, reached)).await;
                if !self.has_budget(order).await {
                    return Ok(None);
                }
                let model = assignment.model.clone();
                let is_short_of_time = assignment.limits.total < task.limits.total;
                let work = (task, &**agent, wall);
                let mut worked = self.run_agent(order, work, (assignment, &workspace), stop).await;
                if let Some(worked) = worked.as_mut().filter(|_| is_short_of_time) {
                    blame_time_budget(&mut worked.end, agent.provider_name());
                }
                if let Some(egress) = &egress {
                    let asked_for = |host: &str| {
                        let actions = worked.iter().flat_map(|worked| &worked.actions);
                        actions.into_iter().any(|action| action.input.contains(host))
                    };
                    let own = agent.background_hosts().iter().copied();
                    let own: Vec<_> = own.filter(|host| !asked_for(host)).collect();
                    self.note_refused_hosts(order, egress, &own).await;
                }
                if let Some(worked) = worked.as_mut() {
                    name_requested_model(&mut worked.end, model);
                    name_unreached_service(&mut worked.end, task, egress.as_ref());
                }
                worked
            }
            TaskWorker::Model(worker) => {
                Box::pin(self.run_model(order, (task, &**worker), &workspace, stop)).await?
            }
        };
        let restored = workspace.restore_repository(order.effect.run).await?;
        let Some(AttemptWork { mut end, actions, spent, content, .. }) = worked else {
            workspace.note_tree_left().await?;
            return Ok(None);
        };
        if let Some(content) = &content {
            workspace.restore_content(content, order.effect.run, self.clock.now()).await?;
        }
        self.dissolve_repositories(order, &workspace).await?;
        if matches!(end, AgentEnd::Finished { .. }) {
            self.restore_test_written_files(order, start, &actions, &workspace).await?;
            let set_aside = workspace.set_aside_uncommitted(order.effect.run).await?;
            workspace.note_traces().await?;
            let elsewhere =
                self.find_misplaced_work(order, &workspace, &restored, &set_aside).await?;
            if let Some(fault) = elsewhere {
                end = AgentEnd::Failed(Box::new(fault));
            }
        }
        workspace.note_tree_left().await?;
        relativize_denied_paths(&mut end, workspace.directory());
        self.denied.replace_denials(order.effect.task, &end);
        self.note_denials(order, &end).await;
        let approach = self.recognize_approach(&end, &actions, &workspace).await?;
        // Another attempt would be denied the same access.
        if approach.files_changed == 0
            && let Some(denied) = self.take_denial_fault(order, task)
            && (self.lacks_declaration(order, &denied).await
                || !self.is_allowed_by_operator(order, &denied).await)
        {
            let fault = Arc::new(denied);
            let approach = Some(Arc::new(approach));
            return Ok(Some(EffectResult::new(EffectOutcome::Failed { fault, approach }, spent)));
        }
        Ok(Some(EffectResult::new(attempt_outcome(end, approach, order.nudged), spent)))
    }

    /// Runs the checks before the first paid call, and reports those that are red.
    async fn measure_baseline(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let (shell, egress) = self.open_check_shell(order).await?;
        let at = (order.effect.run, self.clock.now());
        let means = (&shell, &*self.settings.redactor);
        let is_new = self.baselines.find_baseline(order.build, &task.gates).is_none();
        let words = collect_task_words(order);
        let wanted = BaselineRequirement {
            words: &words,
            mode: task.gates.baseline,
            has_own_checks: order.task.validate.is_some(),
            withheld: &self.settings.withheld,
        };
        let of = (order.build, &task.gates, wanted);
        let measured = self.baselines.measure_baseline(of, workspace, means, at).await;
        let measured = match measured {
            Ok(measured) => measured,
            Err(fault) => {
                self.remark_sandbox_block(order, &fault).await;
                return Err(explain_refused_hosts(fault, egress.as_ref()));
            }
        };
        let Some(baseline) = measured else { return Ok(()) };
        let redactor = &self.settings.redactor;
        let red = baseline.red_checks().map(|(command, red)| RedCheck {
            command: redactor.redact_text(command).into(),
            exit: red.exit,
            output: redactor.redact_text(&red.output).into(),
            tests: red
                .failures
                .tests
                .iter()
                .map(|test| redactor.redact_text(test).into())
                .collect(),
            compared: task.gates.baseline == BaselineMode::Compare,
            later: find_later_stage(&task.gates, command),
        });
        let red: Vec<RedCheck> = red.collect();
        for check in red.iter().filter(|_| is_new) {
            if let Some(text) = render_service_denial(&check.command, &check.output) {
                self.send_remark(order, &text).await;
            }
        }
        if !red.is_empty() {
            let note = RunNote::BaseChecked { red };
            let note = Command::Note { effect: order.effect.id, note };
            if let Err(error) = self.decider.submit_command(note).await {
                tracing::debug!(%error, "the run has ended while its base was checked");
            }
        }
        Ok(())
    }

    /// Returns whether any budget is left for an agent program, whose calls are not reserved.
    async fn has_budget(&self, order: &EffectRequest) -> bool {
        let reserve = Command::Reserve { effect: order.effect.id, amount: Amount::ZERO };
        match self.decider.submit_command(reserve).await {
            Ok(decided) => {
                let run = Some(order.effect.run);
                decided.iter().all(|recorded| recorded.event.ended_run() != run)
            }
            // The error shows up again at the end of the attempt.
            Err(error) => {
                tracing::debug!(%error, "whether there is budget left is not known");
                true
            }
        }
    }

    /// Says once in a build that the cost of an agent is not known.
    async fn remark_unknown_cost(&self, order: &EffectRequest, agent: Option<&str>) {
        let is_first = lock_unpoisoned(&self.told_unpriced).insert(order.build);
        if is_first {
            let agent = agent.and_then(provider_display_name).unwrap_or("the agent");
            let said = format!(
                "What {agent} costs is not known, and it does not count towards a limit in money."
            );
            self.send_remark(order, &said).await;
        }
    }

    /// Redacts the transcripts that the agent's program keeps: it may have printed its own key.
    async fn redact_transcripts(&self, agent: &dyn Agent) {
        let Some(folder) = agent.transcript_folder().map(Path::to_owned) else { return };
        if !folder.is_dir() {
            return;
        }
        let redactor = Arc::clone(&self.settings.redactor);
        let redacted = tokio::task::spawn_blocking(move || redactor.redact_files(&folder)).await;
        if let Ok(Err(error)) = redacted {
            tracing::warn!(%error, "secrets could not be taken out of an agent's transcripts");
        }
    }

    async fn run_agent(
        &self,
        order: &EffectRequest,
        (task, agent, wall): (&TaskSettings, &dyn Agent, Wall),
        (assignment, workspace): (AgentAssignment, &Workspace),
        stop: &CancellationToken,
    ) -> Option<AttemptWork> {
        let began = tokio::time::Instant::now();
        let (tell, told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
        let redactor = Arc::clone(&self.settings.redactor);
        let decider = Arc::clone(&self.decider);
        let effect = order.effect.id;
        let follower = AgentFollower::new(decider, effect, redactor, (workspace, wall), task.price);
        let told_to_stop = stop.child_token();
        let work = agent.work_on(assignment, tell, told_to_stop.clone());
        let (ended, seen) = tokio::join!(work, follower.follow_agent(told, told_to_stop));
        self.redact_transcripts(agent).await;
        if seen.unpriced && !agent.reports_cost() {
            self.remark_unknown_cost(order, agent.provider_name()).await;
        }
        let end = match (ended.end, seen.done, seen.stuck) {
            (AgentEnd::Stopped, ..) if stop.is_cancelled() => return None,
            (end @ AgentEnd::Finished { .. }, Some(_), _) | (end, None, None) => end,
            // The agent reported the work as done before it ended, no matter how.
            (_, Some(said), _) => AgentEnd::Finished { said, denials: Vec::new() },
            (_, None, Some(evidence)) => AgentEnd::Failed(Box::new(evidence.to_fault("agent"))),
        };
        let time_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let spent = Amount { time_ms, ..Amount::ZERO };
        Some(AttemptWork { end, actions: seen.actions, spent, content: seen.content })
    }

    /// Returns the approach of an attempt, from the diff it left and the actions it was seen to
    /// perform.
    async fn recognize_approach(
        &self,
        end: &AgentEnd,
        actions: &[AgentAction],
        workspace: &Workspace,
    ) -> Result<Approach, Fault> {
        let change = DiffChange::from_diff(&workspace.create_patch().await?);
        let said = match end {
            AgentEnd::Finished { said, .. } => Some(self.settings.redactor.redact_text(said)),
            AgentEnd::Failed(_) | AgentEnd::Stopped => None,
        };
        let worktree = workspace.directory().to_string_lossy();
        Ok(Approach::from_attempt(&change, actions, said.as_deref(), &worktree))
    }

    /// Makes the files of repositories that the agent made ordinary files of the work, and reports it.
    async fn dissolve_repositories(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let root = self.settings.project.root();
        for repository in workspace.dissolve_repositories(order.effect.run).await? {
            let text = format!(
                "The agent made a git repository in {}. Its files are part of the work, and its .git \
                 is kept as {}.",
                repository.path.display(),
                repository.kept.strip_prefix(root).unwrap_or(&repository.kept).display()
            );
            self.send_remark(order, &text).await;
        }
        Ok(())
    }

    /// Restores the files that an agent's own test runs wrote: tracked files that checks are known to
    /// change, and that neither the agent's actions nor the task's words name.
    async fn restore_test_written_files(
        &self,
        order: &EffectRequest,
        start: Start,
        actions: &[AgentAction],
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        // In a worktree that is not new, an earlier attempt may have changed the files on purpose.
        let is_new = matches!(start, Start::Fresh | Start::FromBase | Start::NewWorktree);
        let by_checks = workspace.read_changed_by_checks()?;
        if !is_new || by_checks.is_empty() || actions.len() >= ACTIONS_MAX {
            return Ok(());
        }
        let is_named = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            actions.iter().any(|action| action.input.contains(&*name))
                || order.task.title.contains(&*name)
                || order.task.goal.contains(&*name)
        };
        let changes = workspace.list_changes().await?.into_iter().map(|change| change.path);
        let written: Vec<PathBuf> =
            changes.filter(|path| by_checks.contains(path) && !is_named(path)).collect();
        if written.is_empty() {
            return Ok(());
        }
        workspace.revert_paths(&written, order.effect.run, self.clock.now()).await?;
        let said =
            format!("I put back what only the tests have changed: {}.", join_path_names(&written));
        self.send_remark(order, &said).await;
        Ok(())
    }

    /// Notes in the journal what an agent was not allowed to do.
    async fn note_denials(&self, order: &EffectRequest, end: &AgentEnd) {
        let AgentEnd::Finished { denials, .. } = end else { return };
        let mut what: Vec<(&str, bool)> =
            denials.iter().map(|denial| (denial.what.as_str(), is_file_denial(denial))).collect();
        what.sort_unstable();
        what.dedup();
        let list = self.command_denylist();
        for (what, is_file) in what.into_iter().take(NOTED_MAX) {
            let why = match is_file {
                true => GUARDED,
                false if list.is_never_allowed(what) => NEVER_RUNS,
                false if list.blocks_line(what) => BLOCKED_BY_SETTINGS,
                false => NOT_PERMITTED,
            };
            let what = Arc::from(self.settings.redactor.redact_text(what));
            let note = RunNote::Refused { what, why: Arc::from(why) };
            let note = Command::Note { effect: order.effect.id, note };
            if let Err(error) = self.decider.submit_command(note).await {
                tracing::debug!(%error, "a refusal could not be noted");
            }
        }
    }

    /// Returns whether an agent was denied the declaration of an action and has not declared it in
    /// another way.
    pub(super) async fn lacks_declaration(&self, order: &EffectRequest, denied: &Fault) -> bool {
        let Kind::PermissionCommandBlocked(of) = &denied.kind else { return false };
        for key in of.commands.iter().flat_map(|line| parse_declared_keys(line)) {
            let Some(key) = key else { return true };
            let declared = StateQuery::Declares { task: order.effect.task, key };
            if !self.is_confirmed(declared).await {
                return true;
            }
        }
        false
    }
}

/// Returns the outcome of an attempt. An agent that was `nudged` and again ended with a question
/// instead of a change waits for its answer.
fn attempt_outcome(end: AgentEnd, approach: Approach, nudged: bool) -> EffectOutcome {
    let asks = nudged && approach.files_changed == 0;
    let approach = Arc::new(approach);
    let fault = match end {
        AgentEnd::Finished { said, .. } => {
            let asked = parse_blocked_need(&said)
                .or_else(|| asks.then(|| parse_open_need(&said)).flatten());
            asked.map(|asked| {
                let context = Input { asked: asked.to_owned(), ..Input::default() };
                Arc::new(Fault::precondition_input("agent", asked, context))
            })
        }
        AgentEnd::Stopped => None,
        AgentEnd::Failed(fault) => Some(Arc::from(fault)),
    };
    match fault {
        Some(fault) => EffectOutcome::Failed { fault, approach: Some(approach) },
        None => EffectOutcome::Attempted { approach },
    }
}

/// Returns the stage of a check that does not run before the commit.
fn find_later_stage(gates: &TaskGates, command: &str) -> Option<CheckStage> {
    let has = |checks: &GateChecks| checks.commands().iter().any(|check| check == command);
    if has(&gates.pre_commit) {
        None
    } else if has(&gates.pre_push) {
        Some(CheckStage::PrePush)
    } else {
        has(&gates.pre_pr).then_some(CheckStage::PrePr)
    }
}

/// Adds the model that was asked for to the fault of an agent that is not available.
fn name_requested_model(end: &mut AgentEnd, model: Option<String>) {
    let AgentEnd::Failed(fault) = end else { return };
    if let Kind::ProviderNotAvailable(of) = &mut fault.kind {
        of.model = of.model.take().or(model);
    }
}

/// Turns the timeout of an agent that had no working time left into an exhausted budget.
fn blame_time_budget(end: &mut AgentEnd, agent: Option<&str>) {
    let AgentEnd::Failed(fault) = end else { return };
    if fault.code() == Code::IterationTimeout {
        **fault = spent_time_fault(agent.unwrap_or("agent"));
    }
}

/// Returns the fault of an attempt that was ended because no working time is left.
pub(super) fn spent_time_fault(source: &str) -> Fault {
    let spent = BudgetSpent { unit: "time".to_owned(), ..BudgetSpent::default() };
    Fault::budget_exhausted(source, "its working time is spent", spent)
}

/// Names the AI service in the fault of an agent program that did not reach it. The program itself
/// may report an answer of the proxy.
fn name_unreached_service(end: &mut AgentEnd, task: &TaskSettings, egress: Option<&EgressProxy>) {
    let (AgentEnd::Failed(fault), Some(host)) = (end, &task.service_host) else { return };
    if fault.code() != Code::ProviderApiError {
        return;
    }
    let is_told = || {
        let said = text_rules::classify_output(fault.message.as_bytes());
        matches!(said.code, Code::EnvConnection | Code::EnvDns)
    };
    if egress.is_some_and(|egress| egress.was_unreached(host)) || is_told() {
        let said = std::mem::replace(&mut fault.message, format!("{NO_CONNECTION}{host}"));
        fault.cause.get_or_insert(said);
    }
}
