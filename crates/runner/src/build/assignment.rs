//! The assignment of an agent: its prompt, limits, environment, shims, and its connection to the
//! supervisor.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use unstuck_core::engine::Start;
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::tell::NUDGE;
use unstuck_store::StoredConversation;
use unstuck_world::agent::{AgentAssignment, AttemptLimits};
use unstuck_world::commands::CommandShims;
use unstuck_world::mcp;
use unstuck_world::workspace::Workspace;

use super::baseline;
use super::context::BuildContext;
use super::settings::{AgentControl, TaskSettings, TaskWorker};
use crate::control::RunSocket;
use crate::decider::{StateQuery, StateQueryResult};
use crate::effects::EffectRequest;

/// The rules for all agents.
const COMMON_RULES: &str = "\
You work unattended in a git worktree of your own. No one reads along, so do not ask for \
confirmation: decide, and say in one plain sentence what you do.

- Change only what the task needs, inside the allowed paths. Anything else is taken back.
- The checks below are run by us when you say you are done, on the state the work will land on. \
Changing a check to make it pass is taken back.
- You work in a sandbox. A path that cannot be read or written outside the worktree, or a host that \
cannot be reached, is closed on purpose: it is not broken, and trying again does not help. Work \
without it, or say what you need.
- Do not push, publish, open pull requests or send anything.";

/// A further rule for an agent that works on a task and has Unstuck's tools.
const DECLARES: &str = "
- What is irreversible is declared with the tool `mutate` of the server `unstuck`, and happens after \
the checks.";

/// A further rule for an agent that has Unstuck's tools.
const ASKS: &str = "
- If you cannot go on without a person, ask with the tool `ask_human` of the server `unstuck` and \
stop there.";

/// Further rules for an agent without them.
const WITHOUT_TOOLS: &str = "
- If you cannot go on without a person, end with a line that begins with BLOCKED: and says what you \
need.";

/// The connection of a run's processes to the supervisor.
#[derive(Default)]
pub(super) struct SupervisorLink {
    /// The environment variables that describe it.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The socket of the run, open as long as this value lives.
    pub(super) socket: Option<RunSocket>,
}

impl BuildContext {
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

    pub(super) async fn make_assignment(
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
        let mut assignment = AgentAssignment {
            directory: workspace.project_folder(),
            worktree: workspace.directory().to_owned(),
            lock: self.runs.lock_path(order.effect.task, order.effect.run),
            prompt: String::new(),
            thread: self.find_resumed_thread(order, start).await,
            attempt: order.attempt,
            model: task.model.clone(),
            wall: self.agent_sandbox(order, workspace, &environment),
            environment,
            allowed_commands,
            limits: self.compute_limits(order, task).await,
        };
        let rules = self.compose_rules(task, &assignment);
        let prompt = render_agent_prompt(order, &self.compose_notes(order, task), start, &rules);
        assignment.prompt = self.settings.redactor.redact_text(&prompt).into_owned();
        Ok((assignment, socket))
    }

    /// Returns all rules: those for every agent, and those about its network and the tools that it
    /// has. A repair performs no actions.
    fn compose_rules(&self, task: &TaskSettings, assignment: &AgentAssignment) -> String {
        let mut rules = COMMON_RULES.to_owned();
        // A sandbox of the program's own has another network.
        if let TaskWorker::Agent(agent) = &task.worker
            && !agent.has_own_sandbox(assignment)
            && let Some(network) = task.egress.describe_for_agent()
        {
            rules.push_str("\n- ");
            rules.push_str(&network);
        }
        let tools: &[&str] = match (&self.settings.control, self.is_for_build()) {
            (None, _) => &[WITHOUT_TOOLS],
            (Some(_), true) => &[DECLARES, ASKS],
            (Some(_), false) => &[ASKS],
        };
        rules.extend(tools.iter().copied());
        rules
    }

    /// Returns the limits of an attempt: the agent program ends itself when the money is spent, and
    /// is ended when the working time is.
    pub(super) async fn compute_limits(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
    ) -> AttemptLimits {
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
        let path = find_variable(environment, "PATH").unwrap_or_default().to_owned();
        let home = find_variable(environment, "HOME").map(OsStr::to_owned);
        let listed = &self.settings.allowed;
        let permitted =
            |what: &str| listed.iter().chain(allowed).any(|command| command.starts_with(what));
        let shims = self.create_shims(order, |shims| {
            let shims = shims.refusing_mutators(&path, permitted)?;
            shims.refusing_never(&path, home.as_deref(), &self.command_denylist())
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
}

const BEGUN_BEFORE: &str = "This task was begun before. Look at what is there before you go on.";
/// An agent program starts a command before it reports it, so the record may lack the last one.
const MAY_HAVE_BEEN_CUT_OFF: &str = "If a command of yours was cut off, it may have taken effect: \
                                     look whether that is so before you run it again.";

/// Returns the value of a variable.
pub(super) fn find_variable<'a>(
    environment: &'a [(OsString, OsString)],
    name: &str,
) -> Option<&'a OsStr> {
    let found = environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_os_str())
}

/// Returns the whole prompt.
fn render_agent_prompt(order: &EffectRequest, brief: &str, start: Start, rules: &str) -> String {
    // The context begins with the operator's guidance.
    let mut parts: Vec<String> = order.context.iter().cloned().collect();
    if order.nudged {
        parts.push(NUDGE.to_owned());
    } else if matches!(start, Start::Resume | Start::Compacted) {
        parts.push(BEGUN_BEFORE.to_owned());
        if order.cut_off.is_none() {
            parts.push(MAY_HAVE_BEEN_CUT_OFF.to_owned());
        }
    }
    parts.extend(order.cut_off.clone());
    parts.push(format!("# Task: {}\n\n{}", order.task.title, order.task.goal));
    if !brief.is_empty() {
        parts.push(brief.to_owned());
    }
    parts.push(format!("# Rules\n\n{rules}"));
    parts.join("\n\n")
}
