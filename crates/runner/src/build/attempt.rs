//! An attempt at a task: its worktree, the agent or model that works in it, and the result.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{Action, Approach, Change};
use unstuck_core::engine::{Command, Note, Outcome, RedCheck, Start};
use unstuck_core::fault::{BudgetSpent, Code, Fault, Input, Internal};
use unstuck_core::policy::Amount;
use unstuck_store::Conversation;
use unstuck_world::agent::{ACTIVITIES_QUEUED_MAX, Agent, Assignment, End, Limits};
use unstuck_world::commands::{Network, Shims};
use unstuck_world::git::Oid;
use unstuck_world::mcp;
use unstuck_world::process::Held;
use unstuck_world::validate::{BaselineMode, kept_from_service};
use unstuck_world::workspace::{Content, Preparation, Workspace};

use super::baseline;
use super::denied::name_in_project;
use super::egress::explain_refused;
use super::follow::Follower;
use super::left_out::take_left_out;
use super::prompt::prompt;
use super::settings::{Control, TaskSettings};
use super::setup::ask_about_setup;
use super::walls::Reached;
use super::wording::words_of;
use super::worker::Worker;
use super::world::{Shared, failed};
use crate::control::RunSocket;
use crate::decider::{Look, Looked};
use crate::world::{Order, Report};

/// The prefix of a line by which an agent says that it cannot continue without the operator.
const BLOCKED: &str = "BLOCKED:";

/// The result of an agent's or model's work.
pub(super) struct Worked {
    /// The way it ended.
    pub(super) end: End,
    /// The actions performed.
    pub(super) actions: Vec<Action>,
    /// The cost that has not been reported yet.
    pub(super) spent: Amount,
    /// The parts of the sandbox that the machine enforced.
    pub(super) held: Held,
    /// The content of the worktree when the agent said that the task is done.
    pub(super) content: Option<Content>,
}

/// The connection of a run's processes to the supervisor.
#[derive(Default)]
pub(super) struct WayToUs {
    /// The environment variables that describe it.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The socket of the run, open as long as this value lives.
    pub(super) socket: Option<RunSocket>,
}

impl Shared {
    /// Performs an attempt. Returns `None` if it was stopped.
    pub(crate) async fn attempt(
        &self,
        order: &Order,
        start: Start,
        stop: &CancellationToken,
    ) -> Option<Report> {
        Box::pin(self.work(order, start, stop))
            .await
            .unwrap_or_else(|fault| Some(failed(fault).into()))
    }

    async fn work(
        &self,
        order: &Order,
        start: Start,
        stop: &CancellationToken,
    ) -> Result<Option<Report>, Fault> {
        let task = self.task(order)?;
        task.worker.check().await?;
        self.require_room()?;
        let workspace = self.prepare(order, start).await?;
        if self.is_of_a_build() {
            self.go_on_from_landed(order, &workspace).await?;
        }
        if self.is_of_a_build() {
            // The measurement can be stopped halfway, like the agent that would follow it.
            let measured = Box::pin(self.measure_base(order, task, &workspace));
            match stop.run_until_cancelled(measured).await {
                Some(measured) => measured?,
                None => return Ok(None),
            }
        }
        workspace.note_ignored(start).await?;
        let worked = match &task.worker {
            Worker::Agent(agent) => {
                let (mut assignment, _socket) =
                    self.assignment(order, start, task, &workspace).await?;
                let egress = self.open_egress(order, task, &mut assignment).await?;
                let held = agent.wall(&assignment).try_out();
                let reached = match &egress {
                    Some(_) => Reached::AllowedHosts,
                    None => Reached::ByCommands(Network::Open),
                };
                self.tell_walls(order, || (held, reached)).await;
                if !self.has_budget(order).await {
                    return Ok(None);
                }
                let is_short_of_time = assignment.limits.total < task.limits.total;
                let work = (task, &**agent, held);
                let mut worked = self.let_work(order, work, (assignment, &workspace), stop).await;
                if let Some(worked) = worked.as_mut().filter(|_| is_short_of_time) {
                    blame_budget_of_time(&mut worked.end, agent.name());
                }
                if let Some(egress) = &egress {
                    self.note_refused_hosts(order, egress).await;
                }
                worked
            }
            Worker::Model(worker) => {
                Box::pin(self.let_think(order, (task, &**worker), &workspace, stop)).await?
            }
        };
        let held = worked.as_ref().map(|worked| worked.held).unwrap_or_default();
        let wall = self.wall(order, &workspace, &self.environment(order));
        let reach = workspace.reach(held, &wall);
        let restored = workspace.restore_shared(order.effect.run, reach).await?;
        let Some(Worked { mut end, actions, spent, content, .. }) = worked else {
            workspace.note_left().await?;
            return Ok(None);
        };
        if let Some(content) = &content {
            workspace.go_back_to(content, order.effect.run, self.clock.now()).await?;
        }
        if matches!(end, End::Finished { .. }) {
            self.put_back_what_tests_wrote(order, start, &actions, &workspace).await?;
            let set_aside = workspace.set_aside_ignored(order.effect.run).await?;
            let elsewhere = match workspace.find_work_elsewhere(&restored).await? {
                None => workspace.find_only_ignored(&set_aside).await?,
                found => found,
            };
            if let Some(fault) = elsewhere {
                end = End::Failed(Box::new(fault));
            }
        }
        workspace.note_left().await?;
        name_in_project(&mut end, workspace.directory());
        self.denied.note(order.effect.task, &end);
        self.note_denials(order, &end).await;
        let approach = self.approach(&end, &actions, &workspace).await?;
        // Another attempt would be denied the same access.
        if approach.files_changed == 0
            && let Some(denied) = self.take_denied(order, task)
            && (self.misses_declaration(order, &denied).await
                || !self.allowed(order, &denied).await)
        {
            let fault = Arc::new(denied);
            let approach = Some(Arc::new(approach));
            return Ok(Some(Report { outcome: Outcome::Failed { fault, approach }, spent }));
        }
        Ok(Some(Report { outcome: outcome(end, approach), spent }))
    }

    /// Runs the checks before the first paid call, and reports those that are red.
    async fn measure_base(
        &self,
        order: &Order,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let (shell, egress) = self.shell_of_checks(order).await?;
        let at = (order.effect.run, self.clock.now());
        let means = (&shell, &*self.settings.redactor);
        let is_new = self.baselines.known(order.build, &task.gates).is_none();
        let words = words_of(order);
        let of = (order.build, &task.gates, &*words);
        let measured = self.baselines.measure(of, workspace, means, at).await;
        let measured = match measured {
            Ok(measured) => measured,
            Err(fault) => {
                self.say_kept(order, &fault).await;
                return Err(explain_refused(fault, egress.as_ref()));
            }
        };
        let Some(baseline) = measured else { return Ok(()) };
        let redactor = &self.settings.redactor;
        let red = baseline.red().map(|(command, red)| RedCheck {
            command: redactor.text(command).into(),
            exit: red.exit,
            output: redactor.text(&red.output).into(),
            tests: red.failures.tests.iter().map(|test| redactor.text(test).into()).collect(),
            compared: task.gates.baseline == BaselineMode::Compare,
        });
        let red: Vec<RedCheck> = red.collect();
        for check in red.iter().filter(|_| is_new) {
            if let Some(text) = kept_from_service(&check.command, &check.output) {
                self.remark(order, &text).await;
            }
        }
        if !red.is_empty() {
            let note = Note::BaseChecked { red };
            let note = Command::Note { effect: order.effect.id, note };
            if let Err(error) = self.decider.command(note).await {
                tracing::debug!(%error, "the run has ended while its base was checked");
            }
        }
        Ok(())
    }

    /// Returns whether any budget is left for an agent program, whose calls are not reserved.
    async fn has_budget(&self, order: &Order) -> bool {
        let reserve = Command::Reserve { effect: order.effect.id, amount: Amount::ZERO };
        match self.decider.command(reserve).await {
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
    pub(super) fn notes(&self, order: &Order, task: &TaskSettings) -> String {
        let known = self.baselines.known(order.build, &task.gates);
        let red = known.and_then(|baseline| baseline::told(&baseline, task.gates.baseline));
        match red {
            Some(red) if task.brief.is_empty() => red,
            Some(red) => format!("{}\n\n{red}", task.brief),
            None => task.brief.clone(),
        }
    }

    async fn prepare(&self, order: &Order, start: Start) -> Result<Workspace, Fault> {
        self.prepare_at(order, start, self.head(order).await?).await
    }

    /// Prepares the worktree for an attempt that starts from the commit `head`.
    pub(super) async fn prepare_at(
        &self,
        order: &Order,
        start: Start,
        head: Oid,
    ) -> Result<Workspace, Fault> {
        let settings = &self.settings;
        if settings.in_place {
            let kept = (&*self.store, self.project_name.as_str());
            take_left_out(&settings.project, kept, order.build, self.clock.now()).await?;
        }
        let wanted = Preparation {
            place: Self::place(order),
            run: order.effect.run,
            start,
            head,
            share: settings.share.clone(),
            setup: settings.setup.clone(),
            in_place: settings.in_place,
            now: self.clock.now(),
        };
        let shell = self.shell(order);
        let (shell, egress) = self.shell_reaching(order, &settings.setup_egress, shell).await?;
        let prepared = Workspace::prepare(&settings.project, &wanted, &shell).await;
        let refused = egress.as_ref().is_some_and(|egress| !egress.refusals().is_empty());
        let workspace = prepared.map_err(|fault| {
            let fault = explain_refused(fault, egress.as_ref());
            ask_about_setup(fault, &settings.setup, refused)
        })?;
        workspace.note_named(&self.task(order)?.scope, &words_of(order))?;
        Ok(workspace)
    }

    /// Makes landed work the base of the next attempt. Work that was refused after it landed, by a
    /// check before the push for example, is part of the build.
    async fn go_on_from_landed(&self, order: &Order, workspace: &Workspace) -> Result<(), Fault> {
        let made = workspace.commit_made().await?;
        if made == workspace.base().await? {
            return Ok(());
        }
        let head = self.head(order).await?;
        if self.settings.project.git().is_ancestor(&made, &head).await? {
            workspace.integrate(&made, order.effect.run, self.clock.now()).await?;
        }
        Ok(())
    }

    async fn assignment(
        &self,
        order: &Order,
        start: Start,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(Assignment, Option<RunSocket>), Fault> {
        let mut environment = self.environment(order);
        for (name, value) in workspace.environment(order.effect.run).await? {
            environment.retain(|(known, _)| *known != name);
            environment.extend(value.map(|value| (name, value)));
        }
        // Inherited variables of an outer run would lead to the wrong supervisor.
        environment.retain(|(name, _)| mcp::VARIABLES.iter().all(|own| name != own));
        let WayToUs { variables, socket } = self.way_to_us(order)?;
        environment.extend(variables);
        let allowed_commands = self.allowed_commands(order).await;
        self.put_shims_first(order, &allowed_commands, &mut environment)?;
        let prompt =
            prompt(order, &self.notes(order, task), start, self.settings.control.is_some());
        let assignment = Assignment {
            directory: workspace.directory().to_owned(),
            lock: self.runs.lock_path(order.effect.task, order.effect.run),
            prompt: self.settings.redactor.text(&prompt).into_owned(),
            thread: self.thread(order, start).await,
            attempt: order.attempt,
            model: task.model.clone(),
            wall: self.wall(order, workspace, &environment),
            environment,
            allowed_commands,
            limits: self.limits(order, task).await,
        };
        Ok((assignment, socket))
    }

    /// Returns the limits of an attempt: the agent program ends itself when the money is spent, and
    /// is ended when the working time is.
    async fn limits(&self, order: &Order, task: &TaskSettings) -> Limits {
        let budget = self.settings.budget;
        let now = self.clock.now();
        let left = Look::BudgetLeft { task: order.effect.task, budget, now };
        // The error shows up again at the end of the attempt.
        let Ok(Looked::Budget(left)) = self.decider.look(left).await else { return task.limits };
        let time = left.time_ms.map(|left| Duration::from_millis(left.max(1)));
        Limits {
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
        order: &Order,
        allowed: &BTreeSet<String>,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> Result<(), Fault> {
        let path = path_of(environment).to_owned();
        let listed = &self.settings.allowed;
        let permitted =
            |what: &str| listed.iter().chain(allowed).any(|command| command.starts_with(what));
        let shims = self.shims(order, |shims| {
            let shims = shims.refusing_mutators(&path, permitted)?;
            shims.refusing_never(&path, &self.never_run())
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
    pub(super) fn shims_folder(&self, order: &Order) -> PathBuf {
        self.settings.runs.join("shims").join(order.effect.run.to_string())
    }

    /// Creates the shims of a run.
    pub(super) fn shims(
        &self,
        order: &Order,
        make: impl FnOnce(Shims) -> io::Result<Shims>,
    ) -> Result<Shims, Fault> {
        let folder = self.shims_folder(order);
        Shims::within(&folder).and_then(make).map_err(|error| {
            let context = Internal { component: "shims".to_owned() };
            let message = format!("{} cannot be used", folder.display());
            Fault::internal_error("build", message, context).caused_by(error)
        })
    }

    /// Opens the run's socket, and returns the variables by which the agent's processes reach the
    /// supervisor, to report for this attempt only.
    pub(super) fn way_to_us(&self, order: &Order) -> Result<WayToUs, Fault> {
        let Some(Control { socket, key, declarable }) = &self.settings.control else {
            return Ok(WayToUs::default());
        };
        let declarable = serde_json::to_string(declarable).map_err(|error| {
            let context = Internal { component: "build".to_owned() };
            Fault::internal_error("build", error.to_string(), context)
        })?;
        let token = key.token(order.effect.id);
        let path = self.runs.socket_path(order.effect.run);
        let own = RunSocket::open(path, socket.clone(), &token).map_err(|error| {
            let context = Internal { component: "control".to_owned() };
            let message = "the socket of the run cannot be opened";
            Fault::internal_error("build", message, context).caused_by(error)
        })?;
        let variables = vec![
            (mcp::SOCKET.into(), own.path().into()),
            (mcp::TOKEN.into(), token.as_str().into()),
            (mcp::RUN.into(), order.effect.run.to_string().into()),
            (mcp::DECLARABLE.into(), declarable.into()),
        ];
        Ok(WayToUs { variables, socket: Some(own) })
    }

    /// Returns the conversation that an agent program resumes. One that has grown too long is begun
    /// anew, because the worktree is kept.
    async fn thread(&self, order: &Order, start: Start) -> Option<String> {
        if start != Start::Resume {
            return None;
        }
        self.kept(order).await.map(|said| said.as_str().to_owned())
    }

    /// Returns the latest conversation of a task; `None` if it cannot be read.
    pub(super) async fn kept(&self, order: &Order) -> Option<Conversation> {
        match self.store.checkpoint(&self.project_name, order.effect.task).await {
            Ok(conversation) => conversation,
            Err(error) => {
                tracing::warn!(%error, "a conversation could not be read; it begins anew");
                None
            }
        }
    }

    /// Redacts the transcripts that the agent's program keeps: it may have printed its own key.
    async fn redact_transcripts(&self, agent: &dyn Agent) {
        let Some(folder) = agent.transcripts().map(Path::to_owned) else { return };
        if !folder.is_dir() {
            return;
        }
        let redactor = Arc::clone(&self.settings.redactor);
        let redacted = tokio::task::spawn_blocking(move || redactor.redact_files(&folder)).await;
        if let Ok(Err(error)) = redacted {
            tracing::warn!(%error, "secrets could not be taken out of an agent's transcripts");
        }
    }

    async fn let_work(
        &self,
        order: &Order,
        (task, agent, held): (&TaskSettings, &dyn Agent, Held),
        (assignment, workspace): (Assignment, &Workspace),
        stop: &CancellationToken,
    ) -> Option<Worked> {
        let began = tokio::time::Instant::now();
        let (tell, told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
        let redactor = Arc::clone(&self.settings.redactor);
        let decider = Arc::clone(&self.decider);
        let effect = order.effect.id;
        let follower = Follower::new(decider, effect, redactor, workspace, task.price);
        let told_to_stop = stop.child_token();
        let work = agent.work(assignment, tell, told_to_stop.clone());
        let (ended, seen) = tokio::join!(work, follower.follow(told, told_to_stop));
        self.redact_transcripts(agent).await;
        let end = match (ended.end, seen.done, seen.stuck) {
            (End::Stopped, ..) if stop.is_cancelled() => return None,
            (end @ End::Finished { .. }, Some(_), _) | (end, None, None) => end,
            // The agent reported the work as done before it ended, no matter how.
            (_, Some(said), _) => End::Finished { said, denials: Vec::new() },
            (_, None, Some(evidence)) => End::Failed(Box::new(evidence.fault("agent"))),
        };
        let time_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let spent = Amount { time_ms, ..Amount::ZERO };
        Some(Worked { end, actions: seen.actions, spent, held, content: seen.content })
    }

    /// Returns the approach of an attempt, from the diff it left and the actions it was seen to
    /// perform.
    async fn approach(
        &self,
        end: &End,
        actions: &[Action],
        workspace: &Workspace,
    ) -> Result<Approach, Fault> {
        let change = Change::of(&workspace.patch().await?);
        let said = match end {
            End::Finished { said, .. } => Some(self.settings.redactor.text(said)),
            End::Failed(_) | End::Stopped => None,
        };
        let worktree = workspace.directory().to_string_lossy();
        Ok(Approach::of(&change, actions, said.as_deref(), &worktree))
    }
}

/// Returns the search path of an environment.
pub(super) fn path_of(environment: &[(OsString, OsString)]) -> &OsStr {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.map_or(OsStr::new(""), |(_, value)| value)
}

fn outcome(end: End, approach: Approach) -> Outcome {
    let approach = Arc::new(approach);
    match end {
        End::Finished { said, .. } if blocked(&said).is_some() => {
            let asked = blocked(&said).unwrap_or_default().to_owned();
            let fault = Fault::precondition_input(
                "agent",
                asked.clone(),
                Input { asked, ..Input::default() },
            );
            Outcome::Failed { fault: Arc::new(fault), approach: Some(approach) }
        }
        End::Finished { .. } | End::Stopped => Outcome::Attempted { approach },
        End::Failed(fault) => Outcome::Failed { fault: Arc::from(fault), approach: Some(approach) },
    }
}

/// Turns the timeout of an agent that had no working time left into an exhausted budget.
fn blame_budget_of_time(end: &mut End, agent: Option<&str>) {
    let End::Failed(fault) = end else { return };
    if fault.code() == Code::IterationTimeout {
        let spent = BudgetSpent { unit: "time".to_owned(), ..BudgetSpent::default() };
        let source = agent.unwrap_or("agent");
        **fault = Fault::budget_exhausted(source, "its working time is spent", spent);
    }
}

/// Returns the need that an agent states: the rest of its last message after `BLOCKED:` at the
/// start of a line.
fn blocked(said: &str) -> Option<&str> {
    let line = said.lines().map(str::trim_start).find(|line| line.starts_with(BLOCKED))?;
    let from = line.as_ptr() as usize - said.as_ptr() as usize + BLOCKED.len();
    Some(said[from..].trim()).filter(|asked| !asked.is_empty())
}
