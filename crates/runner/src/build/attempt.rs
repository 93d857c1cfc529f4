//! An attempt at a task: its worktree, the agent or model that works in it, and the result.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{AgentAction, Approach, DiffChange};
use unstuck_core::engine::{Command, EffectOutcome, RedCheck, RunNote, Start};
use unstuck_core::fault::{BudgetSpent, Code, Fault, Input, Internal};
use unstuck_core::policy::Amount;
use unstuck_store::StoredConversation;
use unstuck_world::agent::{
    ACTIVITIES_QUEUED_MAX, Agent, AgentAssignment, AgentEnd, AttemptLimits,
};
use unstuck_world::commands::{CommandShims, NetworkIsolation};
use unstuck_world::git::Oid;
use unstuck_world::mcp;
use unstuck_world::process::WallEnforcement;
use unstuck_world::validate::{BaselineMode, render_service_denial};
use unstuck_world::workspace::{Workspace, WorkspacePreparation, WorktreeContent};

use super::baseline;
use super::denied::relativize_denied_paths;
use super::egress::explain_refused_hosts;
use super::follow::AgentFollower;
use super::left_out::save_left_out_work;
use super::prompt::render_agent_prompt;
use super::settings::{AgentControl, TaskSettings};
use super::setup::ask_about_setup;
use super::walls::AgentNetwork;
use super::wording::collect_task_words;
use super::worker::TaskWorker;
use super::world::{BuildContext, failed_outcome};
use crate::control::RunSocket;
use crate::decider::{StateQuery, StateQueryResult};
use crate::effects::{EffectRequest, EffectResult};

/// The prefix of a line by which an agent says that it cannot continue without the operator.
const BLOCKED: &str = "BLOCKED:";

/// The result of an agent's or model's work.
pub(super) struct AttemptWork {
    /// The way it ended.
    pub(super) end: AgentEnd,
    /// The actions performed.
    pub(super) actions: Vec<AgentAction>,
    /// The cost that has not been reported yet.
    pub(super) spent: Amount,
    /// The parts of the sandbox that the machine enforced.
    pub(super) held: WallEnforcement,
    /// The content of the worktree when the agent said that the task is done.
    pub(super) content: Option<WorktreeContent>,
}

/// The connection of a run's processes to the supervisor.
#[derive(Default)]
pub(super) struct SupervisorLink {
    /// The environment variables that describe it.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The socket of the run, open as long as this value lives.
    pub(super) socket: Option<RunSocket>,
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
                let held = agent.wall_for(&assignment).try_out();
                let reached = match &egress {
                    Some(_) => AgentNetwork::AllowedHosts,
                    None => AgentNetwork::ByCommands(NetworkIsolation::Open),
                };
                self.remark_sandbox(order, || (held, reached)).await;
                if !self.has_budget(order).await {
                    return Ok(None);
                }
                let is_short_of_time = assignment.limits.total < task.limits.total;
                let work = (task, &**agent, held);
                let mut worked = self.run_agent(order, work, (assignment, &workspace), stop).await;
                if let Some(worked) = worked.as_mut().filter(|_| is_short_of_time) {
                    blame_time_budget(&mut worked.end, agent.provider_name());
                }
                if let Some(egress) = &egress {
                    self.note_refused_hosts(order, egress).await;
                }
                worked
            }
            TaskWorker::Model(worker) => {
                Box::pin(self.run_model(order, (task, &**worker), &workspace, stop)).await?
            }
        };
        let held = worked.as_ref().map(|worked| worked.held).unwrap_or_default();
        let wall = self.agent_sandbox(order, &workspace, &self.task_environment(order));
        let reach = workspace.assess_exposure(held, &wall);
        let restored = workspace.restore_repository(order.effect.run, reach).await?;
        let Some(AttemptWork { mut end, actions, spent, content, .. }) = worked else {
            workspace.note_tree_left().await?;
            return Ok(None);
        };
        if let Some(content) = &content {
            workspace.restore_content(content, order.effect.run, self.clock.now()).await?;
        }
        if matches!(end, AgentEnd::Finished { .. }) {
            self.restore_test_written_files(order, start, &actions, &workspace).await?;
            let set_aside = workspace.set_aside_ignored(order.effect.run).await?;
            let elsewhere = match workspace.find_work_elsewhere(&restored).await? {
                None => workspace.find_only_ignored(&set_aside).await?,
                found => found,
            };
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
            return Ok(Some(EffectResult {
                outcome: EffectOutcome::Failed { fault, approach },
                spent,
            }));
        }
        Ok(Some(EffectResult { outcome: attempt_outcome(end, approach), spent }))
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
        let of = (order.build, &task.gates, &*words);
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

    /// Returns the notes from the task's files, and the checks that are red before its agent
    /// begins.
    pub(super) fn compose_notes(&self, order: &EffectRequest, task: &TaskSettings) -> String {
        let known = self.baselines.find_baseline(order.build, &task.gates);
        let red =
            known.and_then(|baseline| baseline::render_red_checks(&baseline, task.gates.baseline));
        match red {
            Some(red) if task.brief.is_empty() => red,
            Some(red) => format!("{}\n\n{red}", task.brief),
            None => task.brief.clone(),
        }
    }

    async fn prepare_worktree(
        &self,
        order: &EffectRequest,
        start: Start,
    ) -> Result<Workspace, Fault> {
        self.prepare_worktree_at(order, start, self.target_head(order).await?).await
    }

    /// Prepares the worktree for an attempt that starts from the commit `head`.
    pub(super) async fn prepare_worktree_at(
        &self,
        order: &EffectRequest,
        start: Start,
        head: Oid,
    ) -> Result<Workspace, Fault> {
        let settings = &self.settings;
        if settings.in_place {
            let kept = (&*self.store, self.project_name.as_str());
            save_left_out_work(&settings.project, kept, order.build, self.clock.now()).await?;
        }
        let wanted = WorkspacePreparation {
            place: Self::task_place(order),
            run: order.effect.run,
            start,
            head,
            share: settings.share.clone(),
            setup: settings.setup.clone(),
            in_place: settings.in_place,
            now: self.clock.now(),
        };
        let shell = self.task_shell(order);
        let (shell, egress) =
            self.open_shell_with_egress(order, &settings.setup_egress, shell).await?;
        let prepared = Workspace::prepare(&settings.project, &wanted, &shell).await;
        let refused = egress.as_ref().is_some_and(|egress| !egress.list_refusals().is_empty());
        let workspace = prepared.map_err(|fault| {
            let fault = explain_refused_hosts(fault, egress.as_ref());
            ask_about_setup(fault, &settings.setup, refused)
        })?;
        workspace
            .note_named_paths(&self.task_settings(order)?.scope, &collect_task_words(order))?;
        Ok(workspace)
    }

    /// Makes landed work the base of the next attempt. Work that was refused after it landed, by a
    /// check before the push for example, is part of the build.
    async fn adopt_landed_work(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let made = workspace.find_commit_made().await?;
        if made == workspace.resolve_base().await? {
            return Ok(());
        }
        let head = self.target_head(order).await?;
        if self.settings.project.git().is_ancestor(&made, &head).await? {
            workspace.integrate_onto(&made, order.effect.run, self.clock.now()).await?;
        }
        Ok(())
    }

    async fn make_assignment(
        &self,
        order: &EffectRequest,
        start: Start,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(AgentAssignment, Option<RunSocket>), Fault> {
        let mut environment = self.task_environment(order);
        for (name, value) in workspace.build_agent_environment(order.effect.run).await? {
            environment.retain(|(known, _)| *known != name);
            environment.extend(value.map(|value| (name, value)));
        }
        // Inherited variables of an outer run would lead to the wrong supervisor.
        environment.retain(|(name, _)| mcp::VARIABLES.iter().all(|own| name != own));
        let SupervisorLink { variables, socket } = self.open_supervisor_link(order)?;
        environment.extend(variables);
        let allowed_commands = self.allowed_commands(order).await;
        self.put_shims_first(order, &allowed_commands, &mut environment)?;
        let prompt = render_agent_prompt(
            order,
            &self.compose_notes(order, task),
            start,
            self.settings.control.is_some(),
        );
        let assignment = AgentAssignment {
            directory: workspace.directory().to_owned(),
            lock: self.runs.lock_path(order.effect.task, order.effect.run),
            prompt: self.settings.redactor.redact_text(&prompt).into_owned(),
            thread: self.find_resumed_thread(order, start).await,
            attempt: order.attempt,
            model: task.model.clone(),
            wall: self.agent_sandbox(order, workspace, &environment),
            environment,
            allowed_commands,
            limits: self.compute_limits(order, task).await,
        };
        Ok((assignment, socket))
    }

    /// Returns the limits of an attempt: the agent program ends itself when the money is spent, and
    /// is ended when the working time is.
    async fn compute_limits(&self, order: &EffectRequest, task: &TaskSettings) -> AttemptLimits {
        let budget = self.settings.budget;
        let now = self.clock.now();
        let left = StateQuery::BudgetLeft { task: order.effect.task, budget, now };
        // The error shows up again at the end of the attempt.
        let Ok(StateQueryResult::Budget(left)) = self.decider.query_state(left).await else {
            return task.limits;
        };
        let time = left.time_ms.map(|left| Duration::from_millis(left.max(1)));
        AttemptLimits {
            // With zero the program would not start and could not say why.
            money_micros_max: left.money_micros.map(|left| left.max(1)),
            total: time.map_or(task.limits.total, |time| task.limits.total.min(time)),
            ..task.limits
        }
    }

    /// Puts shims first in the search path, which refuse denied and irreversible commands to an
    /// agent program as well, unless the settings or the operator allow them.
    fn put_shims_first(
        &self,
        order: &EffectRequest,
        allowed: &BTreeSet<String>,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> Result<(), Fault> {
        let path = search_path(environment).to_owned();
        let listed = &self.settings.allowed;
        let permitted =
            |what: &str| listed.iter().chain(allowed).any(|command| command.starts_with(what));
        let shims = self.create_shims(order, |shims| {
            let shims = shims.refusing_mutators(&path, permitted)?;
            shims.refusing_never(&path, &self.command_denylist())
        })?;
        if !shims.programs().is_empty() {
            let folders = std::env::split_paths(&path);
            let folders = std::iter::once(shims.folder().to_owned()).chain(folders);
            // A folder whose name cannot be part of a search path leaves it unchanged.
            if let Ok(path) = std::env::join_paths(folders) {
                environment.retain(|(name, _)| name != "PATH");
                environment.push(("PATH".into(), path));
            }
        }
        Ok(())
    }

    /// Returns the folder of a run's shims.
    pub(super) fn shims_folder(&self, order: &EffectRequest) -> PathBuf {
        self.settings.runs.join("shims").join(order.effect.run.to_string())
    }

    /// Creates the shims of a run.
    pub(super) fn create_shims(
        &self,
        order: &EffectRequest,
        make: impl FnOnce(CommandShims) -> io::Result<CommandShims>,
    ) -> Result<CommandShims, Fault> {
        let folder = self.shims_folder(order);
        CommandShims::open_in(&folder).and_then(make).map_err(|error| {
            let context = Internal { component: "shims".to_owned() };
            let message = format!("{} cannot be used", folder.display());
            Fault::internal_error("build", message, context).with_cause(error)
        })
    }

    /// Opens the run's socket, and returns the variables by which the agent's processes reach the
    /// supervisor, to report for this attempt only.
    pub(super) fn open_supervisor_link(
        &self,
        order: &EffectRequest,
    ) -> Result<SupervisorLink, Fault> {
        let Some(AgentControl { socket, key, declarable }) = &self.settings.control else {
            return Ok(SupervisorLink::default());
        };
        let declarable = serde_json::to_string(declarable).map_err(|error| {
            let context = Internal { component: "build".to_owned() };
            Fault::internal_error("build", error.to_string(), context)
        })?;
        let token = key.issue_token(order.effect.id);
        let path = self.runs.socket_path(order.effect.run);
        let own = RunSocket::open(path, socket.clone(), &token).map_err(|error| {
            let context = Internal { component: "control".to_owned() };
            let message = "the socket of the run cannot be opened";
            Fault::internal_error("build", message, context).with_cause(error)
        })?;
        let variables = vec![
            (mcp::SOCKET.into(), own.path().into()),
            (mcp::TOKEN.into(), token.as_str().into()),
            (mcp::RUN.into(), order.effect.run.to_string().into()),
            (mcp::DECLARABLE.into(), declarable.into()),
        ];
        Ok(SupervisorLink { variables, socket: Some(own) })
    }

    /// Returns the conversation that an agent program resumes. One that has grown too long is begun
    /// anew, because the worktree is kept.
    async fn find_resumed_thread(&self, order: &EffectRequest, start: Start) -> Option<String> {
        if start != Start::Resume {
            return None;
        }
        self.load_conversation(order).await.map(|said| said.as_str().to_owned())
    }

    /// Returns the latest conversation of a task; `None` if it cannot be read.
    pub(super) async fn load_conversation(
        &self,
        order: &EffectRequest,
    ) -> Option<StoredConversation> {
        match self.store.load_checkpoint(&self.project_name, order.effect.task).await {
            Ok(conversation) => conversation,
            Err(error) => {
                tracing::warn!(%error, "a conversation could not be read; it begins anew");
                None
            }
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
        (task, agent, held): (&TaskSettings, &dyn Agent, WallEnforcement),
        (assignment, workspace): (AgentAssignment, &Workspace),
        stop: &CancellationToken,
    ) -> Option<AttemptWork> {
        let began = tokio::time::Instant::now();
        let (tell, told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
        let redactor = Arc::clone(&self.settings.redactor);
        let decider = Arc::clone(&self.decider);
        let effect = order.effect.id;
        let follower = AgentFollower::new(decider, effect, redactor, workspace, task.price);
        let told_to_stop = stop.child_token();
        let work = agent.work_on(assignment, tell, told_to_stop.clone());
        let (ended, seen) = tokio::join!(work, follower.follow_agent(told, told_to_stop));
        self.redact_transcripts(agent).await;
        let end = match (ended.end, seen.done, seen.stuck) {
            (AgentEnd::Stopped, ..) if stop.is_cancelled() => return None,
            (end @ AgentEnd::Finished { .. }, Some(_), _) | (end, None, None) => end,
            // The agent reported the work as done before it ended, no matter how.
            (_, Some(said), _) => AgentEnd::Finished { said, denials: Vec::new() },
            (_, None, Some(evidence)) => AgentEnd::Failed(Box::new(evidence.to_fault("agent"))),
        };
        let time_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let spent = Amount { time_ms, ..Amount::ZERO };
        Some(AttemptWork { end, actions: seen.actions, spent, held, content: seen.content })
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
}

/// Returns the search path of an environment.
pub(super) fn search_path(environment: &[(OsString, OsString)]) -> &OsStr {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.map_or(OsStr::new(""), |(_, value)| value)
}

fn attempt_outcome(end: AgentEnd, approach: Approach) -> EffectOutcome {
    let approach = Arc::new(approach);
    match end {
        AgentEnd::Finished { said, .. } if parse_blocked_need(&said).is_some() => {
            let asked = parse_blocked_need(&said).unwrap_or_default().to_owned();
            let fault = Fault::precondition_input(
                "agent",
                asked.clone(),
                Input { asked, ..Input::default() },
            );
            EffectOutcome::Failed { fault: Arc::new(fault), approach: Some(approach) }
        }
        AgentEnd::Finished { .. } | AgentEnd::Stopped => EffectOutcome::Attempted { approach },
        AgentEnd::Failed(fault) => {
            EffectOutcome::Failed { fault: Arc::from(fault), approach: Some(approach) }
        }
    }
}

/// Turns the timeout of an agent that had no working time left into an exhausted budget.
fn blame_time_budget(end: &mut AgentEnd, agent: Option<&str>) {
    let AgentEnd::Failed(fault) = end else { return };
    if fault.code() == Code::IterationTimeout {
        let spent = BudgetSpent { unit: "time".to_owned(), ..BudgetSpent::default() };
        let source = agent.unwrap_or("agent");
        **fault = Fault::budget_exhausted(source, "its working time is spent", spent);
    }
}

/// Returns the need that an agent states: the rest of its last message after `BLOCKED:` at the
/// start of a line.
fn parse_blocked_need(said: &str) -> Option<&str> {
    let line = said.lines().map(str::trim_start).find(|line| line.starts_with(BLOCKED))?;
    let from = line.as_ptr() as usize - said.as_ptr() as usize + BLOCKED.len();
    Some(said[from..].trim()).filter(|asked| !asked.is_empty())
}
