//! The SQLite table of the ledger.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::{MutationId, RunId, TaskId};

use crate::sqlite::value::{
    read_json, read_time, read_uint, read_word, to_json, to_sql_int, to_sql_time, to_word,
};
use crate::tables::{MutationChange, MutationRow};

/// A change of an action, ready to be written.
#[derive(Debug)]
pub(crate) struct MutationUpsert {
    id: i64,
    intended: Option<MutationInsert>,
    run: Option<i64>,
    status: String,
    result: Option<Arc<str>>,
    at: i64,
}

#[derive(Debug)]
struct MutationInsert {
    task: u32,
    spec: String,
    at: i64,
}

impl MutationUpsert {
    pub(crate) fn from_change(change: &MutationChange) -> serde_json::Result<Self> {
        let intended = change.intended.as_ref().map(|(task, spec, at)| {
            Ok(MutationInsert { task: task.0, spec: to_json(spec)?, at: to_sql_time(*at) })
        });
        Ok(Self {
            id: to_sql_int(change.id.0),
            intended: intended.transpose()?,
            run: change.run.map(|run| to_sql_int(run.0)),
            status: to_word(&change.status)?,
            result: change.result.clone(),
            at: to_sql_time(change.at),
        })
    }

    /// Inserts the row of an intended action; then updates the fields that are set.
    pub(crate) fn upsert_row(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
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
pub(crate) fn load_for_task(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Vec<MutationRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, task, run, spec, status, result, intended_at, changed_at FROM mutations
         WHERE project = ?1 AND task = ?2 ORDER BY id",
    )?;
    let found = find.query_map(params![project, task.0], read_row)?;
    found.collect()
}

/// Returns an action.
pub(crate) fn load_one(
    conn: &Connection,
    project: i64,
    mutation: MutationId,
) -> rusqlite::Result<Option<MutationRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, task, run, spec, status, result, intended_at, changed_at FROM mutations
         WHERE project = ?1 AND id = ?2",
    )?;
    find.query_row(params![project, to_sql_int(mutation.0)], read_row).optional()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<MutationRow> {
    Ok(MutationRow {
        id: MutationId(read_uint(row, 0)?),
        task: TaskId(row.get(1)?),
        run: RunId(read_uint(row, 2)?),
        spec: read_json(row, 3)?,
        status: read_word(row, 4)?,
        result: row.get(5)?,
        intended_at: read_time(row, 6)?,
        changed_at: read_time(row, 7)?,
    })
}
