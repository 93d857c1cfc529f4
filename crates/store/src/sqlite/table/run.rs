//! The SQLite table of runs.

use rusqlite::{Connection, OptionalExtension, Row, params};
use unstuck_core::engine::{Phase, RunId, Status, TaskId};
use unstuck_core::time::Time;

use crate::sqlite::value::{
    int, json, maybe_uint, read_amount, read_json, read_time, read_word, time, uint, word,
};
use crate::tables::{RunChange, RunRow, RunStatus};

/// A change of a run, ready to be written.
#[derive(Debug)]
pub(crate) struct Written {
    id: i64,
    began: Option<Began>,
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
struct Began {
    task: u32,
    retry_of: Option<i64>,
    at: i64,
}

impl Written {
    pub(crate) fn of(change: &RunChange) -> serde_json::Result<Self> {
        let began = change.began.map(|(task, retry_of, at)| Began {
            task: task.0,
            retry_of: retry_of.map(|run| int(run.0)),
            at: time(at),
        });
        Ok(Self {
            id: int(change.id.0),
            began,
            phase: change.phase.as_ref().map(word).transpose()?,
            status: change.status.as_ref().map(word).transpose()?,
            fault: change.fault.as_ref().map(json).transpose()?,
            iterations: change.iterations,
            tool_calls: change.tool_calls,
            money_micros: int(change.spent.money_micros),
            tokens: int(change.spent.tokens),
            time_ms: int(change.spent.time_ms),
            ended_at: change.ended_at.map(time),
        })
    }

    /// Inserts the row of a run that begins; then updates the fields that are set, and adds the increments.
    pub(crate) fn put(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
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
    let phase = word(&Phase::default()).unwrap_or_default();
    (phase, word(&RunStatus::Standing(Status::Active)).unwrap_or_default())
}

const COLUMNS: &str = "id, task, retry_of, phase, status, fault, iterations, tool_calls,
    money_micros, tokens, time_ms, started_at, ended_at";

/// Returns the runs of a task, oldest first.
pub(crate) fn of_task(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Vec<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE project = ?1 AND task = ?2 ORDER BY id");
    let mut find = conn.prepare_cached(&sql)?;
    let found = find.query_map(params![project, task.0], read)?;
    found.collect()
}

/// Returns a run.
pub(crate) fn one(conn: &Connection, project: i64, run: RunId) -> rusqlite::Result<Option<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE project = ?1 AND id = ?2");
    let mut find = conn.prepare_cached(&sql)?;
    find.query_row(params![project, int(run.0)], read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let fault = match row.get_ref(5)? {
        rusqlite::types::ValueRef::Null => None,
        _ => Some(read_json(row, 5)?),
    };
    Ok(RunRow {
        id: RunId(uint(row, 0)?),
        task: TaskId(row.get(1)?),
        retry_of: maybe_uint(row, 2)?.map(RunId),
        phase: read_word(row, 3)?,
        status: read_word(row, 4)?,
        fault,
        iterations: row.get(6)?,
        tool_calls: row.get(7)?,
        spent: read_amount(row, 8)?,
        started_at: read_time(row, 11)?,
        ended_at: maybe_uint(row, 12)?.map(Time::from_millis),
    })
}
