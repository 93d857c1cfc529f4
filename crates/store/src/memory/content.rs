//! The durable content of a project in memory, and the changes that batches make in it.

use std::collections::BTreeMap;

use unstuck_core::engine::{
    BuildId, MutationId, Phase, QuestionId, RecordedEvent, RunId, State, Status, TaskId,
};
use unstuck_core::plan::GateKey;
use unstuck_core::policy::Amount;
use unstuck_core::signature::Signature;
use unstuck_core::time::Time;

use super::AT;
use crate::checkpoint::StoredConversation;
use crate::error::{AnswerError, StoreError};
use crate::snapshot::{self, JournalTail};
use crate::store::{Answer, Batch, EventPage, Outbox, attribute_runs};
use crate::tables::{
    BuildRow, CostRow, GateRow, MutationChange, MutationRow, QuestionChange, QuestionRow,
    QuestionStatus, RunChange, RunRow, RunStatus, SignatureRow, TableChanges, TaskChange, TaskRow,
};

/// Number of snapshots kept: the newest, and one to fall back to.
const SNAPSHOTS_KEPT: usize = 2;

/// The durable content of a project.
#[derive(Clone, Debug, Default)]
pub(super) struct ProjectContent {
    epoch: u64,
    /// `true` while a holder has not closed it cleanly.
    taken: bool,
    last_seq: u64,
    events: BTreeMap<u64, (RecordedEvent, Option<RunId>)>,
    snapshots: BTreeMap<u64, Vec<u8>>,
    answers: Vec<(Answer, bool)>,
    pub(super) builds: BTreeMap<BuildId, BuildRow>,
    pub(super) tasks: BTreeMap<TaskId, TaskRow>,
    pub(super) runs: BTreeMap<RunId, RunRow>,
    pub(super) questions: BTreeMap<QuestionId, QuestionRow>,
    pub(super) mutations: BTreeMap<MutationId, MutationRow>,
    pub(super) checkpoints: BTreeMap<TaskId, StoredConversation>,
    pub(super) gates: BTreeMap<GateKey, GateRow>,
    pub(super) signatures: BTreeMap<Signature, SignatureRow>,
    pub(super) costs: BTreeMap<(u64, TaskId), CostRow>,
    outboxes: BTreeMap<String, Outbox>,
}

impl ProjectContent {
    /// Returns a number that grows with every visible write.
    pub(super) fn revision(&self) -> u64 {
        self.epoch + self.last_seq + self.answers.len() as u64
    }

    /// Claims the project: returns its new epoch, and whether the last holder closed it cleanly.
    pub(super) fn start_epoch(&mut self) -> (u64, bool) {
        self.epoch += 1;
        (self.epoch, !std::mem::replace(&mut self.taken, true))
    }

    pub(super) fn close_cleanly(&mut self, epoch: u64) -> Result<(), StoreError> {
        self.check_epoch(epoch)?;
        self.taken = false;
        Ok(())
    }

    /// Returns the state that the journal adds up to.
    pub(super) fn load_state(&self, project: &str) -> Result<(State, JournalTail), StoreError> {
        let mut readable = self.snapshots.iter().rev().filter_map(|(seq, bytes)| {
            Some((snapshot::deserialize_snapshot(bytes, project, *seq)?, bytes.len() as u64))
        });
        let (mut state, size) = readable.next().unwrap_or_else(|| (State::new(project), 0));
        let mut bytes = 0;
        for (seq, (recorded, _)) in self.events.range(state.seq() + 1..) {
            if *seq != state.seq() + 1 {
                return Err(damage_error(format!("event {} is missing", state.seq() + 1)));
            }
            state.apply(recorded).map_err(|error| damage_error(error.to_string()))?;
            bytes += event_byte_len(recorded);
        }
        Ok((state, JournalTail::new(bytes, size)))
    }

    /// Writes a batch and returns the position of the last event.
    pub(super) fn write_batch(
        &mut self,
        epoch: u64,
        batch: Batch,
        tail: &mut JournalTail,
    ) -> Result<u64, StoreError> {
        self.check_epoch(epoch)?;
        for (expected, recorded) in (self.last_seq + 1..).zip(&batch.events) {
            if recorded.seq != expected {
                return Err(damage_error(format!("event {} came for {expected}", recorded.seq)));
            }
        }
        let credited = attribute_runs(&batch.events);
        for (recorded, run) in batch.events.into_iter().zip(credited) {
            self.last_seq = recorded.seq;
            tail.add_events(event_byte_len(&recorded));
            self.events.insert(recorded.seq, (recorded, run));
        }
        self.checkpoints.extend(batch.checkpoint.map(|c| (c.task, c.conversation)));
        self.apply_changes(batch.changes);
        for (answer, taken) in &mut self.answers {
            *taken |= batch.taken.contains(&answer.question);
        }
        if let Some(bytes) = batch.snapshot {
            tail.reset_to_snapshot(bytes.len() as u64);
            self.snapshots.insert(self.last_seq, bytes);
            while self.snapshots.len() > SNAPSHOTS_KEPT {
                self.snapshots.pop_first();
            }
        }
        Ok(self.last_seq)
    }

    fn check_epoch(&self, epoch: u64) -> Result<(), StoreError> {
        if self.epoch == epoch { Ok(()) } else { Err(StoreError::Fenced { at: AT.to_owned() }) }
    }

    pub(super) fn load_events(&self, page: EventPage) -> Vec<RecordedEvent> {
        let after = self.events.range(page.after.saturating_add(1)..);
        after.take(page.limit as usize).map(|(_, (recorded, _))| recorded.clone()).collect()
    }

    pub(super) fn newest_seq(&self) -> u64 {
        self.events.last_key_value().map_or(0, |(seq, _)| *seq)
    }

    pub(super) fn load_run_decisions(&self, run: RunId) -> Vec<RecordedEvent> {
        let of_run = |(recorded, of): &&(RecordedEvent, Option<RunId>)| {
            *of == Some(run) && recorded.why.is_some()
        };
        self.events.values().filter(of_run).map(|(recorded, _)| recorded.clone()).collect()
    }

    pub(super) fn record_answer(&mut self, answer: Answer) -> Result<(), AnswerError> {
        let id = answer.question;
        let question = self.questions.get(&id).ok_or(AnswerError::NoQuestion(id))?;
        match question.status {
            QuestionStatus::Pending => {}
            QuestionStatus::Resolved | QuestionStatus::Skipped => {
                return Err(AnswerError::Answered(id));
            }
            QuestionStatus::Withdrawn => return Err(AnswerError::Withdrawn(id)),
        }
        if self.answers.iter().any(|(given, _)| given.question == id) {
            return Err(AnswerError::Answered(id));
        }
        if !question.offers_decision(answer.decision) {
            return Err(AnswerError::NotAnOption { question: id, decision: answer.decision });
        }
        self.answers.push((answer, false));
        Ok(())
    }

    pub(super) fn pending_answers(&self) -> Vec<Answer> {
        let waiting = self.answers.iter().filter(|(_, taken)| !taken);
        waiting.map(|(answer, _)| answer.clone()).collect()
    }

    pub(super) fn open_outbox(&mut self, channel: &str) -> Outbox {
        let new = Outbox::delivered_up_to(self.last_seq);
        *self.outboxes.entry(channel.to_owned()).or_insert(new)
    }

    pub(super) fn save_outbox(&mut self, channel: &str, outbox: Outbox) {
        let known = self.outboxes.entry(channel.to_owned()).or_default();
        if outbox.upto >= known.upto {
            *known = outbox;
        }
    }

    pub(super) fn prune_before(&mut self, epoch: u64, before: Time) -> Result<u64, StoreError> {
        self.check_epoch(epoch)?;
        let mut dropped = 0;
        if self.snapshots.len() == SNAPSHOTS_KEPT
            && let Some((&needed, _)) = self.snapshots.first_key_value()
        {
            while let Some(oldest) = self.events.first_entry()
                && *oldest.key() <= needed
                && oldest.get().0.at < before
            {
                oldest.remove();
                dropped += 1;
            }
        }
        self.prune_builds(before);
        Ok(dropped)
    }

    fn apply_changes(&mut self, changes: TableChanges) {
        for row in changes.builds {
            self.change_build(row);
        }
        self.tasks.extend(changes.new_tasks.into_iter().map(|row| (row.id, row)));
        for (id, moved) in changes.tasks {
            self.change_task(id, moved);
        }
        for change in changes.runs {
            self.change_run(change);
        }
        for change in changes.questions {
            self.change_question(change);
        }
        for change in changes.mutations {
            self.change_mutation(change);
        }
        self.gates.extend(changes.gates.into_iter().map(|row| (row.key, row)));
        self.signatures.extend(changes.signatures.into_iter().map(|row| (row.signature, row)));
        for cost in changes.costs {
            self.add_cost(cost);
        }
        for task in changes.conversations_over {
            self.checkpoints.remove(&task);
        }
    }

    fn change_build(&mut self, mut row: BuildRow) {
        if let Some(known) = self.builds.get(&row.id) {
            row.started_at = known.started_at;
            row.ended_at = row.ended_at.and(known.ended_at.or(row.ended_at));
        }
        self.builds.insert(row.id, row);
    }

    fn change_task(&mut self, id: TaskId, moved: TaskChange) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.moved = moved;
        }
    }

    fn change_run(&mut self, change: RunChange) {
        if let Some((task, retry_of, started_at)) = change.began {
            self.runs.entry(change.id).or_insert_with(|| RunRow {
                id: change.id,
                task,
                retry_of,
                phase: Phase::default(),
                status: RunStatus::Standing(Status::Active),
                fault: None,
                iterations: 0,
                tool_calls: 0,
                spent: Amount::ZERO,
                started_at,
                ended_at: None,
            });
        }
        let Some(run) = self.runs.get_mut(&change.id) else { return };
        run.phase = change.phase.unwrap_or(run.phase);
        run.status = change.status.unwrap_or(run.status);
        run.fault = change.fault.or_else(|| run.fault.take());
        run.iterations = run.iterations.saturating_add(change.iterations);
        run.tool_calls = run.tool_calls.saturating_add(change.tool_calls);
        run.spent = run.spent.saturating_add(change.spent);
        run.ended_at = change.ended_at.or(run.ended_at);
    }

    fn change_question(&mut self, change: QuestionChange) {
        if let Some(row) = change.asked {
            self.questions.insert(change.id, *row);
        }
        if let Some(ended) = change.ended
            && let Some(row) = self.questions.get_mut(&change.id)
        {
            row.status = ended.status;
            row.decision = ended.decision;
            row.guidance = ended.guidance;
            row.answered_by = ended.by;
            row.resolved_at = Some(ended.at);
        }
    }

    fn change_mutation(&mut self, change: MutationChange) {
        if let Some((task, spec, intended_at)) = change.intended
            && let Some(run) = change.run
        {
            self.mutations.entry(change.id).or_insert_with(|| MutationRow {
                id: change.id,
                task,
                run,
                spec,
                status: change.status,
                result: "".into(),
                intended_at,
                changed_at: change.at,
            });
        }
        let Some(row) = self.mutations.get_mut(&change.id) else { return };
        row.run = change.run.unwrap_or(row.run);
        row.status = change.status;
        if let Some(result) = change.result {
            row.result = result;
        }
        row.changed_at = change.at;
    }

    fn add_cost(&mut self, cost: CostRow) {
        let nothing = CostRow { spent: Amount::ZERO, ..cost };
        let row = self.costs.entry((cost.day, cost.task)).or_insert(nothing);
        row.spent = row.spent.saturating_add(cost.spent);
    }

    /// Deletes builds that ended before `before`, with everything that belongs to them. The latest build
    /// stays: it can be revived until another one starts.
    fn prune_builds(&mut self, before: Time) {
        let started = self.builds.values().filter(|build| !build.standing);
        let Some(latest) = started.map(|build| build.id).max() else { return };
        self.builds.retain(|id, build| {
            *id == latest || build.standing || build.ended_at.is_none_or(|at| at >= before)
        });
        self.tasks.retain(|_, task| self.builds.contains_key(&task.build));
        self.runs.retain(|_, run| self.tasks.contains_key(&run.task));
        self.mutations.retain(|_, mutation| self.tasks.contains_key(&mutation.task));
        let builds = &self.builds;
        self.questions.retain(|_, row| row.build.is_none_or(|build| builds.contains_key(&build)));
        let questions = &self.questions;
        self.answers.retain(|(answer, _)| questions.contains_key(&answer.question));
    }
}

/// Returns the size of an event in a journal.
fn event_byte_len(recorded: &RecordedEvent) -> u64 {
    serde_json::to_vec(&recorded.event).map_or(0, |bytes| bytes.len() as u64)
}

fn damage_error(what: String) -> StoreError {
    StoreError::Damaged { at: AT.to_owned(), what }
}
