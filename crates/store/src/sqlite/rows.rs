//! A batch as rows, ready to be written.
//!
//! Making them takes about as long as writing them, so the thread that appends makes them and the writer's
//! thread only writes.

use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::oneshot;
use unstuck_core::engine::DoubtedAction;
use unstuck_core::time::Time;

use super::table::{event, limits, mutation, question, work};
use super::value::RowWrite;
use super::verify::JournalTip;
use crate::checkpoint::Checkpoint;
use crate::store::{Batch, BatchReply, attribute_runs};
use crate::tables::TableChanges;

/// A batch on its way to the disk.
pub(super) struct QueuedBatch {
    pub(super) project: i64,
    pub(super) epoch: i64,
    /// Boxed, because the queue has many slots.
    pub(super) rows: Box<BatchRows>,
    pub(super) reply: oneshot::Sender<BatchReply>,
}

/// A batch ready to be written.
#[derive(Debug)]
pub(super) struct BatchRows {
    pub(super) events: Vec<event::EventInsert>,
    checkpoint: Option<Checkpoint>,
    writes: Vec<RowWrite>,
    snapshot: Option<Vec<u8>>,
}

impl BatchRows {
    pub(super) fn from_batch(batch: Batch) -> serde_json::Result<Self> {
        let credited = attribute_runs(&batch.events);
        let events = batch.events.iter().zip(credited);
        let events = events.map(|(event, run)| event::EventInsert::from_recorded(event, run));
        let mut writes = table_writes(&batch.changes)?;
        writes.extend(batch.taken.into_iter().map(question::mark_answer_taken));
        Ok(Self {
            events: events.collect::<Result<_, _>>()?,
            checkpoint: batch.checkpoint,
            writes,
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
        if let Some(checkpoint) = &self.checkpoint {
            work::upsert_checkpoint(conn, project, checkpoint)?;
        }
        // After the checkpoint, which they delete if the batch ends its conversation.
        self.writes.iter().try_for_each(|write| write.execute(conn, project))?;
        if let Some(body) = &self.snapshot {
            event::insert_snapshot(conn, project, tip.seq, body)?;
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
                && let Some(known) = mutation::load_mutation(conn, project, id)?
            {
                let at = Time::from_millis(event.recorded_at().unsigned_abs());
                let key = Arc::from(known.spec.key.as_str());
                actions.push((event.seq, DoubtedAction { key, at }));
            }
        }
        Ok(actions)
    }
}

/// Returns the writes of the changes of the tables.
fn table_writes(changes: &TableChanges) -> serde_json::Result<Vec<RowWrite>> {
    let mut writes = Vec::new();
    for row in &changes.builds {
        writes.push(work::upsert_build(row)?);
    }
    for row in &changes.new_tasks {
        writes.push(work::upsert_task(row)?);
    }
    for (id, change) in &changes.tasks {
        writes.push(work::update_task(*id, change)?);
    }
    for change in &changes.runs {
        writes.extend(work::insert_run(change)?);
        writes.push(work::update_run(change)?);
    }
    for change in &changes.questions {
        writes.extend(change.asked.as_deref().map(question::upsert_question).transpose()?);
        let ended = change.ended.as_ref();
        writes.extend(ended.map(|ended| question::end_question(change.id, ended)).transpose()?);
    }
    for change in &changes.mutations {
        writes.extend(mutation::insert_mutation(change)?);
        writes.push(mutation::update_mutation(change)?);
    }
    for row in &changes.gates {
        writes.push(limits::upsert_gate(row)?);
    }
    writes.extend(changes.signatures.iter().map(limits::upsert_signature));
    writes.extend(changes.costs.iter().map(limits::add_cost));
    writes.extend(changes.conversations_over.iter().copied().map(work::delete_checkpoint));
    Ok(writes)
}
