//! The SQLite table of the ledger.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::{MutationId, RunId, TaskId};

use crate::sqlite::value::{
    RowWrite, read_json, read_time, read_uint, read_word, to_json, to_sql_int, to_sql_time, to_word,
};
use crate::tables::{MutationChange, MutationRow};

/// Inserts the row of an intended action.
pub(crate) fn insert_mutation(change: &MutationChange) -> serde_json::Result<Option<RowWrite>> {
    let (Some((task, spec, at)), Some(run)) = (&change.intended, change.run) else {
        return Ok(None);
    };
    Ok(Some(RowWrite::new(
        "INSERT INTO mutations
           (project, id, task, run, spec, status, result, intended_at, changed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', ?7, ?7)
         ON CONFLICT (project, id) DO NOTHING",
        [
            to_sql_int(change.id.0).into(),
            task.0.into(),
            to_sql_int(run.0).into(),
            to_json(spec)?.into(),
            to_word(&change.status)?.into(),
            to_sql_time(*at).into(),
        ],
    )))
}

/// Updates the fields of an action that are set.
pub(crate) fn update_mutation(change: &MutationChange) -> serde_json::Result<RowWrite> {
    Ok(RowWrite::new(
        "UPDATE mutations SET run = coalesce(?3, run), status = ?4,
           result = coalesce(?5, result), changed_at = ?6
         WHERE project = ?1 AND id = ?2",
        [
            to_sql_int(change.id.0).into(),
            change.run.map(|run| to_sql_int(run.0)).into(),
            to_word(&change.status)?.into(),
            change.result.as_deref().map(str::to_owned).into(),
            to_sql_time(change.at).into(),
        ],
    ))
}

/// Returns the actions of a task, oldest first.
pub(crate) fn load_task_mutations(
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
pub(crate) fn load_mutation(
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
