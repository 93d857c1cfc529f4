//! Follows an agent while it works: what it does is noted for people, and whether it goes in
//! circles is seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{
    Action, Evidence, Observation, Step, StuckLimits, ToolKind, Verdict, Watch,
};
use unstuck_core::engine::{Command, EffectId, Note, Progress};
use unstuck_core::policy::Amount;
use unstuck_store::Conversation;
use unstuck_world::agent::{Activity, Usage};
use unstuck_world::provider::prices::Price;
use unstuck_world::redact::Redactor;

use crate::decider::Decider;

/// How many actions of one attempt are remembered for recognising it again.
const ACTIONS_MAX: usize = 4_096;

/// Said once in an attempt.
const UNPRICED: &str = "I cannot tell what this costs. It does not count towards a limit in money.";

/// Somebody who looks on while an agent works.
pub(super) struct Follower {
    decider: Arc<dyn Decider>,
    effect: EffectId,
    redactor: Arc<Redactor>,
    worktree: String,
    price: Option<Price>,
    watch: Watch,
    /// Calls whose results have not come yet.
    open: BTreeMap<String, (ToolKind, String)>,
    seen: Seen,
    /// Calls since the last report.
    calls: u32,
    /// It was said that nobody knows what this costs.
    unpriced: bool,
}

/// What was seen of an attempt.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What it did.
    pub(super) actions: Vec<Action>,
    /// It went in circles, and was ended for it.
    pub(super) stuck: Option<Evidence>,
}

impl Follower {
    pub(super) fn new(
        decider: Arc<dyn Decider>,
        effect: EffectId,
        redactor: Arc<Redactor>,
        worktree: String,
        price: Option<Price>,
    ) -> Self {
        let watch = Watch::new(StuckLimits::default(), worktree.as_str());
        let (open, seen) = (BTreeMap::new(), Seen::default());
        let (calls, unpriced) = (0, false);
        Self { decider, effect, redactor, worktree, price, watch, open, seen, calls, unpriced }
    }

    /// Follows until the agent has nothing more to say. One that goes in circles is stopped.
    pub(super) async fn follow(
        mut self,
        mut activities: mpsc::Receiver<Activity>,
        stop: CancellationToken,
    ) -> Seen {
        while let Some(activity) = activities.recv().await {
            self.take(activity).await;
            if self.seen.stuck.is_some() {
                stop.cancel();
            }
        }
        self.seen
    }

    async fn take(&mut self, activity: Activity) {
        match activity {
            Activity::Began { thread } => self.began(thread).await,
            Activity::Thinking => self.note(Note::Thinking).await,
            Activity::Said { text } => {
                self.look(Step::Message);
                let text = self.redactor.text(&text).into();
                self.note(Note::Narrated { text }).await;
            }
            Activity::Called { call, tool, input, .. } => self.called(call, tool, input).await,
            Activity::Returned { call, outcome, output } => {
                let observation = Observation::of(outcome, &output, &self.worktree);
                self.returned(&call, observation);
            }
            Activity::Used { usage } => self.used(usage).await,
        }
    }

    /// The conversation has a name: from now on a crash costs no more than the last step.
    async fn began(&mut self, thread: String) {
        let Ok(conversation) = Conversation::new(thread) else { return };
        let checkpoint = self.decider.checkpoint(self.effect, Progress::default(), conversation);
        heard(checkpoint.await.map(drop));
    }

    async fn called(&mut self, call: String, tool: ToolKind, input: String) {
        self.calls = self.calls.saturating_add(1);
        let input = self.redactor.text(&input).into_owned();
        let unknown = Observation::of(unstuck_core::attempt::Outcome::Waiting, "", "");
        let action = Action { tool, input: input.clone(), observation: unknown };
        let label = action.label(&self.worktree).into();
        self.open.insert(call, (tool, input));
        self.note(Note::ToolCalled { tool, label, running: self.running() }).await;
    }

    /// The commands whose results have not come yet.
    fn running(&self) -> Vec<Arc<str>> {
        let unknown = || Observation::of(unstuck_core::attempt::Outcome::Waiting, "", "");
        let open = self.open.values().map(|(tool, input)| Action {
            tool: *tool,
            input: input.clone(),
            observation: unknown(),
        });
        open.filter_map(|action| action.command()).map(Arc::from).collect()
    }

    fn returned(&mut self, call: &str, observation: Observation) {
        let Some((tool, input)) = self.open.remove(call) else { return };
        let action = Action { tool, input, observation };
        self.look(Step::Action(&action));
        if self.seen.actions.len() < ACTIONS_MAX {
            self.seen.actions.push(action);
        }
    }

    async fn used(&mut self, usage: Usage) {
        let money = usage.money_micros.or_else(|| self.price.map(|price| price.of(&usage)));
        if money.is_none() && !std::mem::replace(&mut self.unpriced, true) {
            self.note(Note::Narrated { text: UNPRICED.into() }).await;
        }
        // What nobody can tell is no money: the tokens count.
        let spent = Amount { money_micros: money.unwrap_or(0), tokens: usage.tokens(), time_ms: 0 };
        let tool_calls = std::mem::take(&mut self.calls);
        let report = Progress { iterations: 1, tool_calls, validated: false, spent };
        let progress = Command::Progress { effect: self.effect, report };
        heard(self.decider.command(progress).await.map(drop));
    }

    async fn note(&self, note: Note) {
        let note = Command::Note { effect: self.effect, note };
        heard(self.decider.command(note).await.map(drop));
    }

    /// A program cannot be nudged while it works; only being stuck matters.
    fn look(&mut self, step: Step<'_>) {
        if let Verdict::Stuck(evidence) = self.watch.observe(step) {
            self.seen.stuck.get_or_insert(evidence);
        }
    }
}

/// An attempt that was ended meanwhile has nobody to report to, and its agent is being stopped.
fn heard<E: std::fmt::Display>(report: Result<(), E>) {
    if let Err(error) = report {
        tracing::debug!(%error, "nobody wants to know what an agent does");
    }
}
