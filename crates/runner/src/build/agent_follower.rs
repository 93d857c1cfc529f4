//! The follower of an agent program while it works: notes its activity for the operator, and
//! detects when it goes in circles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{
    ActionOutcome, AgentAction, AgentStep, LoopDetector, LoopEvidence, Observation, StepVerdict,
    StuckLimits, ToolKind,
};
use unstuck_core::engine::{Command, EffectId, ProgressReport, RunNote};
use unstuck_core::policy::Amount;
use unstuck_store::StoredConversation;
use unstuck_world::agent::{Activity, Usage};
use unstuck_world::commands::find_refusal;
use unstuck_world::mcp;
use unstuck_world::process::Wall;
use unstuck_world::provider::prices::Price;
use unstuck_world::redact::Redactor;
use unstuck_world::workspace::{Workspace, WorktreeContent};

use crate::agent::TASK_DONE;
use crate::decider::Decider;

/// Maximum number of actions of one attempt that are kept to recognize its approach.
pub(super) const ACTIONS_MAX: usize = 4_096;

/// Maximum number of closed paths of one attempt that are noted.
const DENIED_PATHS_MAX: usize = 20;

/// Maximum time for an agent's last messages after that.
const LAST_WORDS_MAX: Duration = Duration::from_secs(30);

/// An observer of an agent's activity.
pub(super) struct AgentFollower<'a> {
    decider: Arc<dyn Decider>,
    effect: EffectId,
    redactor: Arc<Redactor>,
    workspace: &'a Workspace,
    worktree: String,
    wall: Wall,
    /// The closed paths that were noted.
    denied: BTreeSet<PathBuf>,
    price: Option<Price>,
    watch: LoopDetector,
    /// Calls whose results have not arrived yet, by their id.
    open: BTreeMap<String, (ToolKind, String)>,
    seen: AgentObservations,
    /// The pending call that says the task is done, until it returns.
    says_done: Option<PendingDoneCall>,
    /// Number of calls since the last report.
    calls: u32,
    /// `true` while the current answer of the model has not led to a call. An answer that only begins may
    /// still break off, and does not show that the account works.
    is_unproved: bool,
}

/// The observations of an attempt.
#[derive(Debug, Default)]
pub(super) struct AgentObservations {
    pub(super) actions: Vec<AgentAction>,
    /// The evidence of circles, for which the agent was stopped.
    pub(super) stuck: Option<LoopEvidence>,
    /// The summary with which the agent reported its task as done. Later activity is not part of
    /// the attempt.
    pub(super) done: Option<String>,
    /// The content of the worktree at that time.
    pub(super) content: Option<WorktreeContent>,
    /// Set if the cost of something is not known.
    pub(super) unpriced: bool,
}

/// The call by which an agent says that its task is done.
struct PendingDoneCall {
    call: String,
    /// The agent's own summary.
    summary: String,
    /// Earlier calls that have not returned: their effects are part of the work.
    before: BTreeSet<String>,
}

impl<'a> AgentFollower<'a> {
    pub(super) fn new(
        decider: Arc<dyn Decider>,
        effect: EffectId,
        redactor: Arc<Redactor>,
        (workspace, wall): (&'a Workspace, Wall),
        price: Option<Price>,
    ) -> Self {
        let worktree = workspace.directory().to_string_lossy().into_owned();
        let watch = LoopDetector::new(StuckLimits::default(), worktree.as_str());
        Self {
            decider,
            effect,
            redactor,
            workspace,
            worktree,
            wall,
            denied: BTreeSet::new(),
            price,
            watch,
            open: BTreeMap::new(),
            seen: AgentObservations::default(),
            says_done: None,
            calls: 0,
            is_unproved: true,
        }
    }

    /// Follows until the agent's activity ends. Stops an agent that goes in circles, and one that
    /// continues after its task is done.
    pub(super) async fn follow_agent(
        mut self,
        mut activities: mpsc::Receiver<Activity>,
        stop: CancellationToken,
    ) -> AgentObservations {
        while self.seen.done.is_none()
            && let Some(activity) = activities.recv().await
        {
            self.handle_activity(activity).await;
            if self.seen.stuck.is_some() {
                stop.cancel();
            }
        }
        if self.seen.done.is_some() {
            let last_words = self.await_last_messages(&mut activities);
            if timeout(LAST_WORDS_MAX, last_words).await != Ok(AfterDone::Ended) {
                stop.cancel();
            }
            while activities.recv().await.is_some() {}
        } else {
            // The agent may have ended before its call returned.
            self.seen.content = None;
        }
        self.seen
    }

    /// Waits for the end of an agent whose task is done. It may send last messages, in which some
    /// agents report the cost, but no further call.
    async fn await_last_messages(
        &mut self,
        activities: &mut mpsc::Receiver<Activity>,
    ) -> AfterDone {
        while let Some(activity) = activities.recv().await {
            match activity {
                Activity::Called { .. } => return AfterDone::GoesOn,
                Activity::Used { usage } => self.record_usage(usage).await,
                Activity::Began { .. }
                | Activity::Thinking
                | Activity::Said { .. }
                | Activity::Returned { .. } => {}
            }
        }
        AfterDone::Ended
    }

    async fn handle_activity(&mut self, activity: Activity) {
        match activity {
            Activity::Began { thread } => self.record_thread(thread).await,
            Activity::Thinking => self.send_note(RunNote::Thinking).await,
            Activity::Said { text } => {
                self.watch_for_circles(AgentStep::Message);
                let text = self.redactor.redact_text(&text).into();
                self.send_note(RunNote::Narrated { text }).await;
            }
            Activity::Called { call, tool, name, input } => {
                if mcp::is_named(&name, TASK_DONE) {
                    let before = self.open.keys().cloned().collect();
                    let says = PendingDoneCall {
                        call: call.clone(),
                        summary: parse_summary(&input),
                        before,
                    };
                    self.says_done = Some(says);
                    self.record_content().await;
                }
                self.record_call(call, tool, &name, input).await;
                if std::mem::take(&mut self.is_unproved) {
                    self.report_progress(1, Amount::ZERO).await;
                }
            }
            Activity::Returned { call, outcome, output } => {
                let said = self.says_done.take_if(|says| says.call == call);
                if let Some(says) = said {
                    if outcome == ActionOutcome::Succeeded {
                        self.seen.done =
                            Some(self.redactor.redact_text(&says.summary).into_owned());
                        return;
                    }
                    self.seen.content = None;
                }
                if let Some(says) = &mut self.says_done
                    && says.before.remove(&call)
                {
                    self.record_content().await;
                }
                if self.open.get(&call).is_none_or(|(tool, _)| *tool != ToolKind::Read) {
                    self.note_denied_path(&output).await;
                }
                let observation = Observation::from_output(outcome, &output, &self.worktree);
                let refused = find_refusal(&output).map(str::to_owned);
                let action = self.record_result(&call, observation);
                if let (Some(why), Some(what)) = (refused, action) {
                    self.send_note(RunNote::Refused { what: what.into(), why: why.into() }).await;
                }
            }
            Activity::Used { usage } => self.record_usage(usage).await,
        }
    }

    /// Notes a path that the sandbox closed to a command of the agent, once for each path.
    async fn note_denied_path(&mut self, output: &str) {
        let Some(denied) = self.wall.find_denied(output, &self.workspace.project_folder()) else {
            return;
        };
        if self.denied.len() < DENIED_PATHS_MAX && self.denied.insert(denied.path.clone()) {
            let text = self.redactor.redact_text(&denied.render_log_message()).into();
            self.send_note(RunNote::Remarked { text }).await;
        }
    }

    /// Records the content of the worktree once all calls from before the agent's `task_done` have
    /// returned, so that later activity cannot discard its work.
    async fn record_content(&mut self) {
        if !self.says_done.as_ref().is_some_and(|says| says.before.is_empty()) {
            return;
        }
        match self.workspace.capture_content().await {
            Ok(content) => self.seen.content = Some(content),
            Err(error) => {
                tracing::warn!(%error, "what an agent finished could not be noted");
            }
        }
    }

    /// Records the conversation's id as a checkpoint: from now on a crash costs no more than the
    /// last step.
    async fn record_thread(&mut self, thread: String) {
        let conversation = match StoredConversation::new(thread) {
            Ok(conversation) => conversation,
            Err(error) => {
                tracing::warn!(%error, "the conversation of an agent is not kept");
                return;
            }
        };
        let checkpoint =
            self.decider.record_checkpoint(self.effect, ProgressReport::default(), conversation);
        log_failed_report(checkpoint.await.map(drop));
    }

    async fn record_call(&mut self, call: String, tool: ToolKind, name: &str, input: String) {
        self.calls = self.calls.saturating_add(1);
        let input = self.redactor.redact_text(&input).into_owned();
        let unknown = Observation::from_output(ActionOutcome::Waiting, "", "");
        let action = AgentAction { tool, input: input.clone(), observation: unknown };
        // Tools of an MCP server are named by the server and the tool: `mcp__unstuck__task_done`.
        let name = name.rsplit("__").next().unwrap_or(name);
        let label = action.label_with_name(name, &self.worktree).into();
        self.open.insert(call, (tool, input));
        self.send_note(RunNote::ToolCalled { tool, label, running: self.running_commands() }).await;
    }

    /// Returns the commands whose results have not arrived yet.
    fn running_commands(&self) -> Vec<Arc<str>> {
        let unknown = || Observation::from_output(ActionOutcome::Waiting, "", "");
        let open = self.open.values().map(|(tool, input)| AgentAction {
            tool: *tool,
            input: input.clone(),
            observation: unknown(),
        });
        open.filter_map(|action| action.command_line()).map(Arc::from).collect()
    }

    /// Records the result of a call, and returns the call's label.
    fn record_result(&mut self, call: &str, observation: Observation) -> Option<String> {
        let (tool, input) = self.open.remove(call)?;
        let action = AgentAction { tool, input, observation };
        self.watch_for_circles(AgentStep::Action(&action));
        let label = action.label(&self.worktree);
        if self.seen.actions.len() < ACTIONS_MAX {
            self.seen.actions.push(action);
        }
        Some(label)
    }

    async fn record_usage(&mut self, usage: Usage) {
        let money =
            usage.money_micros.or_else(|| self.price.map(|price| price.compute_cost(&usage)));
        self.seen.unpriced |= money.is_none();
        // Unknown cost counts as no money; the tokens count.
        let spent =
            Amount { money_micros: money.unwrap_or(0), tokens: usage.total_tokens(), time_ms: 0 };
        self.is_unproved = true;
        self.report_progress(0, spent).await;
    }

    async fn report_progress(&mut self, iterations: u32, spent: Amount) {
        let tool_calls = std::mem::take(&mut self.calls);
        let idle = self.running_commands().is_empty();
        let report = ProgressReport { iterations, tool_calls, validated: false, idle, spent };
        let progress = Command::Progress { effect: self.effect, report };
        log_failed_report(self.decider.submit_command(progress).await.map(drop));
    }

    async fn send_note(&self, note: RunNote) {
        let note = Command::Note { effect: self.effect, note };
        log_failed_report(self.decider.submit_command(note).await.map(drop));
    }

    /// Checks a step for circles. A program cannot be nudged while it works, so only being stuck
    /// matters.
    fn watch_for_circles(&mut self, step: AgentStep<'_>) {
        if let StepVerdict::Stuck(evidence) = self.watch.observe(step) {
            self.seen.stuck.get_or_insert(evidence);
        }
    }
}

/// The behavior of an agent once its task is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterDone {
    Ended,
    GoesOn,
}

/// Returns the summary in the input of `task_done`.
fn parse_summary(input: &str) -> String {
    #[derive(Deserialize)]
    struct TaskDoneInput {
        summary: String,
    }
    match serde_json::from_str::<TaskDoneInput>(input) {
        Ok(done) => done.summary,
        Err(error) => {
            tracing::debug!(%error, "the summary of an agent cannot be read");
            String::new()
        }
    }
}

/// Logs a failed report. An attempt that was ended meanwhile is no longer listened to, and its
/// agent is being stopped.
fn log_failed_report<E: std::fmt::Display>(report: Result<(), E>) {
    if let Err(error) = report {
        tracing::debug!(%error, "no receiver for the progress of an agent");
    }
}
