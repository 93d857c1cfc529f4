//! The SQLite table of the ledger.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::{MutationId, RunId, TaskId};

use crate::sqlite::value::{int, json, read_json, read_time, read_word, time, uint, word};
use crate::tables::{MutationChange, MutationRow};

/// A change of an action, ready to be written.
#[derive(Debug)]
pub(crate) struct Written {
    id: i64,
    intended: Option<Intended>,
    run: Option<i64>,
    status: String,
    result: Option<Arc<str>>,
    at: i64,
}

#[derive(Debug)]
struct Intended {
    task: u32,
    spec: String,
    at: i64,
}

impl Written {
    pub(crate) fn of(change: &MutationChange) -> serde_json::Result<Self> {
        let intended = change.intended.as_ref().map(|(task, spec, at)| {
            Ok(Intended { task: task.0, spec: json(spec)?, at: time(*at) })
        });
        Ok(Self {
            id: int(change.id.0),
            intended: intended.transpose()?,
            run: change.run.map(|run| int(run.0)),
            status: word(&change.status)?,
            result: change.result.clone(),
            at: time(change.at),
        })
    }

    /// Inserts the row of an intended action; then updates the fields that are set.
    pub(crate) fn put(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        if let (Some(intended), Some(run)) = (&self.intended, self.run) {
            let mut insert = conn.prepare_cached(
                "INSERT INTO mutations
                   (project, id, task, run, spec, status, result, intended_at, changed_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', ?7, ?7)
                 ON CONFLICT (project, id) DO NOTHING",
            )?;
            let task = intended.task;
            let spec = &intended.spec;
            insert.execute(params![project, self.id, task, run, spec, self.status, intended.at])?;
        }
        let mut update = conn.prepare_cached(
            "UPDATE mutations SET run = coalesce(?3, run), status = ?4,
               result = coalesce(?5, result), changed_at = ?6
             WHERE project = ?1 AND id = ?2",
        )?;
        update.execute(params![project, self.id, self.run, self.status, self.result, self.at])?;
        Ok(())
    }
}

/// Returns the actions of a task, oldest first.
pub(crate) fn of_task(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Vec<MutationRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, task, run, spec, status, result, intended_at, changed_at FROM mutations
         WHERE project = ?1 AND task = ?2 ORDER BY id",
    )?;
    let found = find.query_map(params![project, task.0], read)?;
    found.collect()
}

/// Returns an action.
pub(crate) fn one(
    conn: &Connection,
    project: i64,
    mutation: MutationId,
) -> rusqlite::Result<Option<MutationRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, task, run, spec, status, result, intended_at, changed_at FROM mutations
         WHERE project = ?1 AND id = ?2",
    )?;
    find.query_row(params![project, int(mutation.0)], read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<MutationRow> {
    Ok(MutationRow {
        id: MutationId(uint(row, 0)?),
        task: TaskId(row.get(1)?),
        run: RunId(uint(row, 2)?),
        spec: read_json(row, 3)?,
        status: read_word(row, 4)?,
        result: row.get(5)?,
        intended_at: read_time(row, 6)?,
        changed_at: read_time(row, 7)?,
    })
}
