//! A batch as rows, ready to be written.
//!
//! Making them takes about as long as writing them, so the thread that appends makes them and the writer's
//! thread only writes.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::Connection;
use unstuck_core::engine::{DoubtedAction, QuestionId, TaskId};
use unstuck_core::time::Time;

use super::journaled::JournalTip;
use super::table::{
    answer, build, checkpoint, cost, event, gate, mutation, question, run, signature, snapshot,
    task,
};
use crate::batch::{Batch, attribute_runs};
use crate::checkpoint::Checkpoint;
use crate::tables::{CostRow, SignatureRow};

/// A batch ready to be written.
#[derive(Debug)]
pub(super) struct BatchRows {
    pub(super) events: Vec<event::EventInsert>,
    builds: Vec<build::BuildUpsert>,
    new_tasks: Vec<task::TaskUpsert>,
    tasks: Vec<task::TaskRowUpdate>,
    runs: Vec<run::RunUpsert>,
    questions: Vec<question::QuestionUpsert>,
    mutations: Vec<mutation::MutationUpsert>,
    gates: Vec<gate::GateUpsert>,
    signatures: Vec<SignatureRow>,
    costs: Vec<CostRow>,
    taken: Vec<QuestionId>,
    checkpoint: Option<Checkpoint>,
    conversations_over: BTreeSet<TaskId>,
    snapshot: Option<Vec<u8>>,
}

impl BatchRows {
    pub(super) fn from_batch(batch: Batch) -> serde_json::Result<Self> {
        let credited = attribute_runs(&batch.events);
        let events = batch.events.iter().zip(credited);
        let events = events.map(|(event, run)| event::EventInsert::from_recorded(event, run));
        let changes = batch.changes;
        Ok(Self {
            events: events.collect::<Result<_, _>>()?,
            builds: convert_all(&changes.builds, build::BuildUpsert::from_row)?,
            new_tasks: convert_all(&changes.new_tasks, task::TaskUpsert::from_row)?,
            tasks: convert_all(&changes.tasks, |(id, moved)| {
                task::TaskRowUpdate::from_change(*id, moved)
            })?,
            runs: convert_all(&changes.runs, run::RunUpsert::from_change)?,
            questions: convert_all(&changes.questions, question::QuestionUpsert::from_change)?,
            mutations: convert_all(&changes.mutations, mutation::MutationUpsert::from_change)?,
            gates: convert_all(&changes.gates, gate::GateUpsert::from_row)?,
            signatures: changes.signatures,
            costs: changes.costs,
            taken: batch.taken,
            checkpoint: batch.checkpoint,
            conversations_over: changes.conversations_over,
            snapshot: batch.snapshot,
        })
    }

    /// Returns the size of the events in bytes.
    pub(super) fn events_bytes(&self) -> u64 {
        self.events.iter().map(event::EventInsert::byte_len).sum()
    }

    /// Returns the approximate number of bytes to write.
    pub(super) fn byte_len(&self) -> u64 {
        let said =
            self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.conversation.byte_len());
        self.events_bytes() + said
    }

    /// Returns the size of the snapshot, if there is one.
    pub(super) fn snapshot_bytes(&self) -> Option<u64> {
        self.snapshot.as_ref().map(|bytes| bytes.len() as u64)
    }

    /// Writes all rows after the end of the journal; returns the new end.
    pub(super) fn write_rows(
        &self,
        conn: &Connection,
        project: i64,
        tip: JournalTip,
    ) -> rusqlite::Result<JournalTip> {
        let mut seal = tip.seal;
        for event in &self.events {
            seal = event.insert_row(conn, project, seal)?;
        }
        let tip = JournalTip { seq: self.events.last().map_or(tip.seq, |event| event.seq), seal };
        self.builds.iter().try_for_each(|row| row.upsert_row(conn, project))?;
        self.new_tasks.iter().try_for_each(|row| row.upsert_row(conn, project))?;
        self.tasks.iter().try_for_each(|row| row.update_row(conn, project))?;
        self.runs.iter().try_for_each(|row| row.upsert_row(conn, project))?;
        self.questions.iter().try_for_each(|row| row.upsert_row(conn, project))?;
        self.mutations.iter().try_for_each(|row| row.upsert_row(conn, project))?;
        self.gates.iter().try_for_each(|row| row.upsert_row(conn, project))?;
        self.signatures
            .iter()
            .try_for_each(|row| signature::upsert_signature(conn, project, row))?;
        self.costs.iter().try_for_each(|row| cost::add_cost(conn, project, row))?;
        self.taken.iter().try_for_each(|id| answer::mark_taken(conn, project, *id))?;
        self.checkpoint
            .iter()
            .try_for_each(|row| checkpoint::upsert_checkpoint(conn, project, row))?;
        let over = self.conversations_over.iter();
        over.copied().try_for_each(|task| checkpoint::delete_checkpoint(conn, project, task))?;
        if let Some(body) = &self.snapshot {
            snapshot::insert_snapshot(conn, project, tip.seq, body)?;
        }
        Ok(tip)
    }

    /// Returns the actions that are dispatched once this is on disk.
    pub(super) fn find_dispatched_actions(
        &self,
        conn: &Connection,
        project: i64,
    ) -> rusqlite::Result<Vec<(u64, DoubtedAction)>> {
        let mut actions = Vec::new();
        for event in &self.events {
            if let Some(id) = event.lets_go
                && let Some(known) = mutation::load_one(conn, project, id)?
            {
                let at = Time::from_millis(event.recorded_at().unsigned_abs());
                let key = Arc::from(known.spec.key.as_str());
                actions.push((event.seq, DoubtedAction { key, at }));
            }
        }
        Ok(actions)
    }
}

fn convert_all<T, W>(
    all: &[T],
    make: impl Fn(&T) -> serde_json::Result<W>,
) -> serde_json::Result<Vec<W>> {
    all.iter().map(make).collect()
}
