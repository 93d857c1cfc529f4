//! The SQLite tables of builds, tasks with their conversations, and runs.

use std::sync::Arc;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::{BuildId, Phase, RunId, Status, TaskId};

use crate::checkpoint::{Checkpoint, StoredConversation};
use crate::sqlite::value::{
    RowWrite, read_amount, read_json, read_optional_json, read_optional_time, read_optional_uint,
    read_time, read_uint, read_word, to_json, to_sql_int, to_sql_time, to_word,
};
use crate::tables::{BuildRow, RunChange, RunRow, RunStatus, TaskChange, TaskRow};

/// Upserts a build. The first start stays, and so does the first end until the build is revived.
pub(crate) fn upsert_build(row: &BuildRow) -> serde_json::Result<RowWrite> {
    Ok(RowWrite::new(
        "INSERT INTO builds (project, id, standing, started_at, ended_at, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project, id) DO UPDATE SET body = excluded.body, ended_at = CASE
           WHEN excluded.ended_at IS NULL THEN NULL
           ELSE coalesce(ended_at, excluded.ended_at) END",
        [
            row.id.0.into(),
            row.standing.into(),
            to_sql_time(row.started_at).into(),
            row.ended_at.map(to_sql_time).into(),
            to_json(row)?.into(),
        ],
    ))
}

/// Returns all builds, newest first.
pub(crate) fn load_builds(conn: &Connection, project: i64) -> rusqlite::Result<Vec<BuildRow>> {
    let mut find = conn.prepare_cached(
        "SELECT body, started_at, ended_at FROM builds WHERE project = ?1 ORDER BY id DESC",
    )?;
    let found = find.query_map([project], read_build)?;
    found.collect()
}

fn read_build(row: &Row<'_>) -> rusqlite::Result<BuildRow> {
    let written: BuildRow = read_json(row, 0)?;
    let ended_at = read_optional_time(row, 2)?;
    Ok(BuildRow { started_at: read_time(row, 1)?, ended_at, ..written })
}

/// Upserts a new task.
pub(crate) fn upsert_task(row: &TaskRow) -> serde_json::Result<RowWrite> {
    Ok(RowWrite::new(
        "INSERT INTO tasks (project, id, build, spec, moved) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (project, id) DO UPDATE SET
           build = excluded.build, spec = excluded.spec, moved = excluded.moved",
        [
            row.id.0.into(),
            row.build.0.into(),
            to_json(&row.spec)?.into(),
            to_json(&row.moved)?.into(),
        ],
    ))
}

/// Updates the changing part of a task.
pub(crate) fn update_task(id: TaskId, change: &TaskChange) -> serde_json::Result<RowWrite> {
    let sql = "UPDATE tasks SET moved = ?3 WHERE project = ?1 AND id = ?2";
    Ok(RowWrite::new(sql, [id.0.into(), to_json(change)?.into()]))
}

/// Returns the tasks of a build, in the order of their ids.
pub(crate) fn load_build_tasks(
    conn: &Connection,
    project: i64,
    build: BuildId,
) -> rusqlite::Result<Vec<TaskRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, build, spec, moved FROM tasks WHERE project = ?1 AND build = ?2 ORDER BY id",
    )?;
    let found = find.query_map(params![project, build.0], read_task)?;
    found.collect()
}

/// Returns a task.
pub(crate) fn load_task(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Option<TaskRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, build, spec, moved FROM tasks WHERE project = ?1 AND id = ?2",
    )?;
    find.query_row(params![project, task.0], read_task).optional()
}

fn read_task(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: TaskId(row.get(0)?),
        build: BuildId(row.get(1)?),
        spec: read_json(row, 2)?,
        moved: read_json(row, 3)?,
    })
}

/// Inserts the row of a run that begins.
pub(crate) fn insert_run(change: &RunChange) -> serde_json::Result<Option<RowWrite>> {
    let Some((task, retry_of, at)) = change.began else { return Ok(None) };
    Ok(Some(RowWrite::new(
        "INSERT INTO runs (project, id, task, retry_of, phase, status, iterations,
           tool_calls, money_micros, tokens, time_ms, started_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, 0, ?7)
         ON CONFLICT (project, id) DO NOTHING",
        [
            to_sql_int(change.id.0).into(),
            task.0.into(),
            retry_of.map(|run| to_sql_int(run.0)).into(),
            to_word(&Phase::default())?.into(),
            to_word(&RunStatus::Standing(Status::Active))?.into(),
            to_sql_time(at).into(),
        ],
    )))
}

/// Updates the fields of a run that are set, and adds the increments.
pub(crate) fn update_run(change: &RunChange) -> serde_json::Result<RowWrite> {
    Ok(RowWrite::new(
        "UPDATE runs SET phase = coalesce(?3, phase), status = coalesce(?4, status),
           fault = coalesce(?5, fault), iterations = iterations + ?6,
           tool_calls = tool_calls + ?7, money_micros = money_micros + ?8,
           tokens = tokens + ?9, time_ms = time_ms + ?10,
           ended_at = coalesce(?11, ended_at)
         WHERE project = ?1 AND id = ?2",
        [
            to_sql_int(change.id.0).into(),
            change.phase.as_ref().map(to_word).transpose()?.into(),
            change.status.as_ref().map(to_word).transpose()?.into(),
            change.fault.as_ref().map(to_json).transpose()?.into(),
            change.iterations.into(),
            change.tool_calls.into(),
            to_sql_int(change.spent.money_micros).into(),
            to_sql_int(change.spent.tokens).into(),
            to_sql_int(change.spent.time_ms).into(),
            change.ended_at.map(to_sql_time).into(),
        ],
    ))
}

const RUN_COLUMNS: &str = "id, task, retry_of, phase, status, fault, iterations, tool_calls,
    money_micros, tokens, time_ms, started_at, ended_at";

/// Returns the runs of a task, oldest first.
pub(crate) fn load_task_runs(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Vec<RunRow>> {
    let sql =
        format!("SELECT {RUN_COLUMNS} FROM runs WHERE project = ?1 AND task = ?2 ORDER BY id");
    let mut find = conn.prepare_cached(&sql)?;
    let found = find.query_map(params![project, task.0], read_run)?;
    found.collect()
}

/// Returns a run.
pub(crate) fn load_run(
    conn: &Connection,
    project: i64,
    run: RunId,
) -> rusqlite::Result<Option<RunRow>> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM runs WHERE project = ?1 AND id = ?2");
    let mut find = conn.prepare_cached(&sql)?;
    find.query_row(params![project, to_sql_int(run.0)], read_run).optional()
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: RunId(read_uint(row, 0)?),
        task: TaskId(row.get(1)?),
        retry_of: read_optional_uint(row, 2)?.map(RunId),
        phase: read_word(row, 3)?,
        status: read_word(row, 4)?,
        fault: read_optional_json(row, 5)?,
        iterations: row.get(6)?,
        tool_calls: row.get(7)?,
        spent: read_amount(row, 8)?,
        started_at: read_time(row, 11)?,
        ended_at: read_optional_time(row, 12)?,
    })
}

/// Upserts the latest conversation of a task. The text is not copied.
pub(crate) fn upsert_checkpoint(
    conn: &Connection,
    project: i64,
    checkpoint: &Checkpoint,
) -> rusqlite::Result<()> {
    let mut upsert = conn.prepare_cached(
        "INSERT INTO checkpoints (project, task, conversation) VALUES (?1, ?2, ?3)
         ON CONFLICT (project, task) DO UPDATE SET conversation = excluded.conversation",
    )?;
    upsert.execute(params![project, checkpoint.task.0, checkpoint.conversation.as_str()])?;
    Ok(())
}

/// Deletes the checkpoint of a conversation that is over.
pub(crate) fn delete_checkpoint(task: TaskId) -> RowWrite {
    RowWrite::new("DELETE FROM checkpoints WHERE project = ?1 AND task = ?2", [task.0.into()])
}

/// Returns the latest conversation of a task.
pub(crate) fn load_checkpoint(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Option<StoredConversation>> {
    let mut find = conn
        .prepare_cached("SELECT conversation FROM checkpoints WHERE project = ?1 AND task = ?2")?;
    let text = find.query_row(params![project, task.0], |row| row.get::<_, Arc<str>>(0));
    let unreadable =
        |error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error));
    text.optional()?.map(StoredConversation::new).transpose().map_err(unreadable)
}
