//! The decisions of the loop: commands, answers of the operator and checkpoints become batches, and
//! the effects, notices and reply of a batch are released once it is on disk.

use std::sync::Arc;

use unstuck_core::chance::Rng;
use unstuck_core::engine::{
    Command, CommandRejection, Effect, EffectChange, EffectId, EffectKind, ProgressReport,
    RecordedEvent, Task, decide, requested_effects,
};
use unstuck_core::fault::{Code, CommandEnd, Fault, RunFailure};
use unstuck_core::tell;
use unstuck_store::{
    Answer, Batch, Checkpoint, StoreError, StoredConversation, crash, serialize_snapshot,
};

use super::handle::{CommandError, CommandReply, DurableDecision, RunnerNotice};
use super::runner::{DecisionStep, PendingDecision, Runner};
use crate::effects::{EffectRequest, EffectResult, failed_outcome};

impl Runner {
    /// Starts an effect, unless another project found its account limited.
    fn start_effect(&mut self, order: EffectRequest) {
        let gates = self.setup.gates.as_ref();
        match gates.and_then(|gates| gates.find_refusal(&order, self.setup.clock.now())) {
            Some(report) => self.settle_effect(order.effect.id, report),
            None => self.work.perform_effect(order),
        }
    }

    pub(super) fn settle_effect(&mut self, effect: EffectId, report: EffectResult) {
        crash::crash_point();
        let EffectResult { outcome, spent, command } = report;
        let broken = command.and_then(|command| self.find_phase_violation(effect, command));
        let outcome = broken.map_or(outcome, failed_outcome);
        let command = Command::Settle { effect, outcome, spent };
        let result = Some(command.clone());
        self.decide_command(command, result, None);
    }

    /// Returns the fault of a script that exited with 0 although it has done what its phase does
    /// not allow.
    fn find_phase_violation(&self, effect: EffectId, command: String) -> Option<Fault> {
        let task = self.state.task(self.state.effect(effect)?.task)?;
        let blamed = self.state.run(task.state.run()?)?.blamed.as_deref()?;
        let end = CommandEnd { command: Some(command), exit: Some(0), output: String::new() };
        (blamed.code() == Code::LogicPhaseViolation).then(|| blamed.clone().with_command_end(end))
    }

    /// Decides a command. `result` is a copy of the command if it has to survive a failed write.
    pub(super) fn decide_command(
        &mut self,
        command: Command,
        result: Option<Command>,
        reply: Option<CommandReply>,
    ) {
        match self.apply_command(command) {
            Ok(batch) => self.append_batch(batch, result, reply),
            Err(rejected) => self.queue_refusal(rejected, reply),
        }
    }

    /// Applies a command to the state in memory, and returns the batch to write.
    fn apply_command(&mut self, command: Command) -> Result<Batch, CommandRejection> {
        let now = self.setup.clock.now();
        let mut rng = Rng::for_decision(&self.setup.project, self.state.seq());
        let events = decide(&mut self.state, command, &self.setup.policy, now, &mut rng)?;
        if let Some(broken) = self.state.take_broken_invariant() {
            let fault = broken.to_fault();
            tracing::error!(%fault, seq = self.state.seq(), "a decision met a state that cannot be");
        }
        Ok(Batch::new(&self.state, events))
    }

    /// Queues a refusal, which waits for its turn like a decision.
    fn queue_refusal(&mut self, rejected: CommandRejection, reply: Option<CommandReply>) {
        if let CommandRejection::Stale(effect) = &rejected {
            tracing::debug!(%effect, "a result came that is no longer awaited");
        }
        self.pending.push(PendingDecision {
            durable: None,
            result: None,
            events: Arc::new([]),
            rejected: Some(rejected),
            steps: Vec::new(),
            notices: Vec::new(),
            reply,
        });
    }

    /// Appends a batch to the journal, and queues its consequences until it is durable.
    pub(super) fn append_batch(
        &mut self,
        mut batch: Batch,
        result: Option<Command>,
        reply: Option<CommandReply>,
    ) {
        let due = self.journal.as_ref().is_some_and(|journal| journal.is_snapshot_due());
        if due && !batch.events.is_empty() {
            batch.snapshot = Some(serialize_snapshot(&self.state));
        }
        let steps = batch.events.iter().flat_map(|recorded| self.derive_steps(recorded)).collect();
        let events: Arc<[_]> = batch.events.iter().cloned().map(Arc::new).collect();
        let notices = self.compose_notices(&events);
        let durable = match &mut self.journal {
            _ if batch.events.is_empty() && batch.taken.is_empty() => None,
            Some(journal) => Some(journal.append_batch(batch)),
            None => None,
        };
        let durable = durable.map(|receipt| Box::pin(receipt.wait_until_durable()) as _);
        self.pending.push(PendingDecision {
            durable,
            result,
            events,
            rejected: None,
            steps,
            notices,
            reply,
        });
    }

    /// Releases the effects, notices and reply of a decision that is on disk.
    pub(super) fn release_decision(&mut self, entry: Option<PendingDecision>) {
        let Some(entry) = entry else { return };
        for step in entry.steps {
            crash::crash_point();
            match step {
                DecisionStep::Perform(order) => self.start_effect(*order),
                DecisionStep::Stop(effect) => self.work.stop_effect(effect),
            }
        }
        if let Some(gates) = &self.setup.gates {
            let now = self.setup.clock.now();
            entry.events.iter().for_each(|recorded| gates.publish_event(&recorded.event, now));
        }
        for notice in entry.notices {
            // There may be no watcher.
            let _ = self.handle.notices.send(notice);
        }
        if let Some(reply) = entry.reply {
            let decided = match entry.rejected {
                Some(rejected) => Err(CommandError::Rejected(rejected)),
                None => Ok(DurableDecision { events: entry.events }),
            };
            // The caller may be gone.
            let _ = reply.send(decided);
        }
    }

    /// Returns the steps that follow from an event that was just decided.
    fn derive_steps(&self, recorded: &RecordedEvent) -> Vec<DecisionStep> {
        requested_effects(&self.state, recorded)
            .filter_map(|change| self.derive_step(change))
            .collect()
    }

    fn derive_step(&self, change: EffectChange) -> Option<DecisionStep> {
        match change {
            EffectChange::Stop(effect) => Some(DecisionStep::Stop(effect)),
            EffectChange::Start(effect) => {
                self.make_effect_request(effect).map(|order| DecisionStep::Perform(Box::new(order)))
            }
        }
    }

    /// Returns the order of an effect with all it takes to perform it; `None` if it is not
    /// performed by this process.
    pub(super) fn make_effect_request(&self, effect: Effect) -> Option<EffectRequest> {
        // An effect of a session is performed and reported by a runtime elsewhere.
        let task = self.state.task(effect.task).filter(|task| !task.is_session())?;
        let (mutation, context) = match effect.what {
            EffectKind::Perform { mutation } | EffectKind::Probe { mutation } => {
                (self.state.mutation(mutation).cloned(), None)
            }
            EffectKind::Attempt { .. } | EffectKind::Repair { .. } => {
                (None, tell::replan_context(&self.state, &self.setup.policy, effect.run))
            }
            _ => (None, None),
        };
        let build = task.build;
        let spec = Arc::clone(&task.spec);
        let (attempt, broke) = match effect.what {
            EffectKind::Repair { .. } => (task.repairs.called_for, task.repairs.broke.clone()),
            _ => (task.attempts, None),
        };
        Some(EffectRequest {
            project: Arc::clone(&self.setup.project),
            build,
            firing: task.firing,
            attempt,
            mutation,
            context,
            nudged: task.nudged == Some(effect.run),
            cut_off: render_cut_off_commands(task, &effect),
            guidance: task.guidance.as_ref().and_then(|guidance| guidance.text.clone()),
            mended: find_mended_fault(task, &effect),
            broke,
            task: spec,
            effect,
        })
    }

    /// Returns the notices for watchers; without a watcher no narration is composed.
    fn compose_notices(&self, events: &[Arc<RecordedEvent>]) -> Vec<RunnerNotice> {
        if self.handle.notices.receiver_count() == 0 {
            return Vec::new();
        }
        let tell = |recorded: &Arc<RecordedEvent>| RunnerNotice::Event {
            recorded: Arc::clone(recorded),
            narration: tell::narrate_event(&self.state, recorded).map(Arc::from),
        };
        events.iter().map(tell).collect()
    }

    /// Turns answers that have not been processed yet into commands.
    pub(super) async fn take_answers(&mut self) -> Result<(), StoreError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        for answer in journal.load_pending_answers().await? {
            self.take_answer(answer);
        }
        Ok(())
    }

    /// Marks the answer as taken in the same transaction as the events that follow from it. An
    /// answer that no longer fits, because its question was withdrawn meanwhile, leads to no event.
    fn take_answer(&mut self, answer: Answer) {
        let Answer { question, decision, guidance, by, .. } = answer;
        if !self.answering.insert(question) {
            return;
        }
        let decided = self.apply_command(Command::Answer { question, decision, guidance, by });
        let mut batch = decided.unwrap_or_else(|rejected| {
            tracing::info!(%question, %rejected, "an answer came too late");
            Batch::default()
        });
        batch.taken.push(question);
        self.append_batch(batch, None, None);
    }

    /// Writes the conversation of an attempt in the same transaction as the progress it belongs to.
    pub(super) fn record_checkpoint(
        &mut self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
        reply: CommandReply,
    ) {
        // Read before the decision, because the progress may end the effect.
        let task = self.state.effect(effect).map(|effect| effect.task);
        match self.apply_command(Command::Progress { effect, report }) {
            Ok(mut batch) => {
                batch.checkpoint = task.map(|task| Checkpoint { task, conversation });
                self.append_batch(batch, None, Some(reply));
            }
            Err(rejected) => self.queue_refusal(rejected, Some(reply)),
        }
    }
}

/// Returns the text about the commands that were still running when the previous agent of the task
/// was last heard of.
fn render_cut_off_commands(task: &Task, effect: &Effect) -> Option<String> {
    match effect.what {
        EffectKind::Attempt { .. } | EffectKind::Repair { .. } => tell::render_cut_off(task),
        _ => None,
    }
}

/// Returns the authentication or permission fault that paused a script and that the operator says
/// is fixed.
fn find_mended_fault(task: &Task, effect: &Effect) -> Option<Arc<Fault>> {
    let EffectKind::Execute { retry: 1.. } = effect.what else { return None };
    let paused =
        |fault: &&Arc<Fault>| fault.error_type().run_status() == RunFailure::PausedApproval;
    task.failure.as_ref().filter(paused).cloned()
}
