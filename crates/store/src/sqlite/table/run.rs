//! The SQLite table of runs.

use rusqlite::{Connection, OptionalExtension, Row, params};
use unstuck_core::engine::{Phase, RunId, Status, TaskId};
use unstuck_core::time::Time;

use crate::sqlite::value::{
    read_amount, read_json, read_optional_uint, read_time, read_uint, read_word, to_json,
    to_sql_int, to_sql_time, to_word,
};
use crate::tables::{RunChange, RunRow, RunStatus};

/// A change of a run, ready to be written.
#[derive(Debug)]
pub(crate) struct RunUpsert {
    id: i64,
    began: Option<RunInsert>,
    phase: Option<String>,
    status: Option<String>,
    fault: Option<String>,
    iterations: u32,
    tool_calls: u32,
    money_micros: i64,
    tokens: i64,
    time_ms: i64,
    ended_at: Option<i64>,
}

#[derive(Debug)]
struct RunInsert {
    task: u32,
    retry_of: Option<i64>,
    at: i64,
}

impl RunUpsert {
    pub(crate) fn from_change(change: &RunChange) -> serde_json::Result<Self> {
        let began = change.began.map(|(task, retry_of, at)| RunInsert {
            task: task.0,
            retry_of: retry_of.map(|run| to_sql_int(run.0)),
            at: to_sql_time(at),
        });
        Ok(Self {
            id: to_sql_int(change.id.0),
            began,
            phase: change.phase.as_ref().map(to_word).transpose()?,
            status: change.status.as_ref().map(to_word).transpose()?,
            fault: change.fault.as_ref().map(to_json).transpose()?,
            iterations: change.iterations,
            tool_calls: change.tool_calls,
            money_micros: to_sql_int(change.spent.money_micros),
            tokens: to_sql_int(change.spent.tokens),
            time_ms: to_sql_int(change.spent.time_ms),
            ended_at: change.ended_at.map(to_sql_time),
        })
    }

    /// Inserts the row of a run that begins; then updates the fields that are set, and adds the increments.
    pub(crate) fn upsert_row(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        if let Some(began) = &self.began {
            let (phase, status) = began_words();
            let mut insert = conn.prepare_cached(
                "INSERT INTO runs (project, id, task, retry_of, phase, status, iterations,
                   tool_calls, money_micros, tokens, time_ms, started_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, 0, ?7)
                 ON CONFLICT (project, id) DO NOTHING",
            )?;
            let task = began.task;
            let retry_of = began.retry_of;
            insert.execute(params![project, self.id, task, retry_of, phase, status, began.at])?;
        }
        let mut update = conn.prepare_cached(
            "UPDATE runs SET phase = coalesce(?3, phase), status = coalesce(?4, status),
               fault = coalesce(?5, fault), iterations = iterations + ?6,
               tool_calls = tool_calls + ?7, money_micros = money_micros + ?8,
               tokens = tokens + ?9, time_ms = time_ms + ?10,
               ended_at = coalesce(?11, ended_at)
             WHERE project = ?1 AND id = ?2",
        )?;
        update.execute(params![
            project,
            self.id,
            self.phase,
            self.status,
            self.fault,
            self.iterations,
            self.tool_calls,
            self.money_micros,
            self.tokens,
            self.time_ms,
            self.ended_at
        ])?;
        Ok(())
    }
}

/// Returns the phase and status of a run that begins.
fn began_words() -> (String, String) {
    let phase = to_word(&Phase::default()).unwrap_or_default();
    (phase, to_word(&RunStatus::Standing(Status::Active)).unwrap_or_default())
}

const COLUMNS: &str = "id, task, retry_of, phase, status, fault, iterations, tool_calls,
    money_micros, tokens, time_ms, started_at, ended_at";

/// Returns the runs of a task, oldest first.
pub(crate) fn load_for_task(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Vec<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE project = ?1 AND task = ?2 ORDER BY id");
    let mut find = conn.prepare_cached(&sql)?;
    let found = find.query_map(params![project, task.0], read_row)?;
    found.collect()
}

/// Returns a run.
pub(crate) fn load_one(
    conn: &Connection,
    project: i64,
    run: RunId,
) -> rusqlite::Result<Option<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE project = ?1 AND id = ?2");
    let mut find = conn.prepare_cached(&sql)?;
    find.query_row(params![project, to_sql_int(run.0)], read_row).optional()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let fault = match row.get_ref(5)? {
        rusqlite::types::ValueRef::Null => None,
        _ => Some(read_json(row, 5)?),
    };
    Ok(RunRow {
        id: RunId(read_uint(row, 0)?),
        task: TaskId(row.get(1)?),
        retry_of: read_optional_uint(row, 2)?.map(RunId),
        phase: read_word(row, 3)?,
        status: read_word(row, 4)?,
        fault,
        iterations: row.get(6)?,
        tool_calls: row.get(7)?,
        spent: read_amount(row, 8)?,
        started_at: read_time(row, 11)?,
        ended_at: read_optional_uint(row, 12)?.map(Time::from_millis),
    })
}
