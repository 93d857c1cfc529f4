//! A batch as rows, ready to be written.
//!
//! Making them takes about as long as writing them, so the thread that appends makes them and the writer's
//! thread only writes.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::Connection;
use unstuck_core::engine::{DoubtedAction, QuestionId, TaskId};
use unstuck_core::time::Time;

use super::journaled::Tip;
use super::table::{
    answer, build, checkpoint, cost, event, gate, mutation, question, run, signature, snapshot,
    task,
};
use crate::batch::{Batch, runs};
use crate::checkpoint::Checkpoint;
use crate::tables::{CostRow, SignatureRow};

/// A batch ready to be written.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) events: Vec<event::Written>,
    builds: Vec<build::Written>,
    new_tasks: Vec<task::New>,
    tasks: Vec<task::Moved>,
    runs: Vec<run::Written>,
    questions: Vec<question::Written>,
    mutations: Vec<mutation::Written>,
    gates: Vec<gate::Written>,
    signatures: Vec<SignatureRow>,
    costs: Vec<CostRow>,
    taken: Vec<QuestionId>,
    checkpoint: Option<Checkpoint>,
    conversations_over: BTreeSet<TaskId>,
    snapshot: Option<Vec<u8>>,
}

impl Rows {
    pub(super) fn of(batch: Batch) -> serde_json::Result<Self> {
        let credited = runs(&batch.events);
        let events = batch.events.iter().zip(credited);
        let events = events.map(|(event, run)| event::Written::of(event, run));
        let changes = batch.changes;
        Ok(Self {
            events: events.collect::<Result<_, _>>()?,
            builds: each(&changes.builds, build::Written::of)?,
            new_tasks: each(&changes.new_tasks, task::New::of)?,
            tasks: each(&changes.tasks, |(id, moved)| task::Moved::of(*id, moved))?,
            runs: each(&changes.runs, run::Written::of)?,
            questions: each(&changes.questions, question::Written::of)?,
            mutations: each(&changes.mutations, mutation::Written::of)?,
            gates: each(&changes.gates, gate::Written::of)?,
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
        self.events.iter().map(event::Written::bytes).sum()
    }

    /// Returns the approximate number of bytes to write.
    pub(super) fn bytes(&self) -> u64 {
        let said = self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.conversation.bytes());
        self.events_bytes() + said
    }

    /// Returns the size of the snapshot, if there is one.
    pub(super) fn snapshot_bytes(&self) -> Option<u64> {
        self.snapshot.as_ref().map(|bytes| bytes.len() as u64)
    }

    /// Writes all rows after the end of the journal; returns the new end.
    pub(super) fn put(&self, conn: &Connection, project: i64, tip: Tip) -> rusqlite::Result<Tip> {
        let mut seal = tip.seal;
        for event in &self.events {
            seal = event.put(conn, project, seal)?;
        }
        let tip = Tip { seq: self.events.last().map_or(tip.seq, |event| event.seq), seal };
        self.builds.iter().try_for_each(|row| row.put(conn, project))?;
        self.new_tasks.iter().try_for_each(|row| row.put(conn, project))?;
        self.tasks.iter().try_for_each(|row| row.put(conn, project))?;
        self.runs.iter().try_for_each(|row| row.put(conn, project))?;
        self.questions.iter().try_for_each(|row| row.put(conn, project))?;
        self.mutations.iter().try_for_each(|row| row.put(conn, project))?;
        self.gates.iter().try_for_each(|row| row.put(conn, project))?;
        self.signatures.iter().try_for_each(|row| signature::put(conn, project, row))?;
        self.costs.iter().try_for_each(|row| cost::add(conn, project, row))?;
        self.taken.iter().try_for_each(|id| answer::take(conn, project, *id))?;
        self.checkpoint.iter().try_for_each(|row| checkpoint::put(conn, project, row))?;
        let over = self.conversations_over.iter();
        over.copied().try_for_each(|task| checkpoint::drop(conn, project, task))?;
        if let Some(body) = &self.snapshot {
            snapshot::put(conn, project, tip.seq, body)?;
        }
        Ok(tip)
    }

    /// Returns the actions that are dispatched once this is on disk.
    pub(super) fn let_go(
        &self,
        conn: &Connection,
        project: i64,
    ) -> rusqlite::Result<Vec<(u64, DoubtedAction)>> {
        let mut actions = Vec::new();
        for event in &self.events {
            if let Some(id) = event.lets_go
                && let Some(known) = mutation::one(conn, project, id)?
            {
                let at = Time::from_millis(event.at().unsigned_abs());
                let key = Arc::from(known.spec.key.as_str());
                actions.push((event.seq, DoubtedAction { key, at }));
            }
        }
        Ok(actions)
    }
}

fn each<T, W>(all: &[T], make: impl Fn(&T) -> serde_json::Result<W>) -> serde_json::Result<Vec<W>> {
    all.iter().map(make).collect()
}
