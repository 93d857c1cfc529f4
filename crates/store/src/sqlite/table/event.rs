//! The journal.

use rusqlite::{Connection, Row, params};
use unstuck_core::engine::{Recorded, RunId};
use unstuck_core::time::Time;

use crate::sqlite::value::{int, json, read_json, read_time, time, uint};
use crate::store::Page;

/// An event ready to be written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) seq: u64,
    at: i64,
    build: Option<u32>,
    task: Option<u32>,
    run: Option<i64>,
    why: Option<String>,
    body: String,
}

impl Written {
    pub(crate) fn of(recorded: &Recorded, run: Option<RunId>) -> serde_json::Result<Self> {
        let about = recorded.event.about();
        Ok(Self {
            seq: recorded.seq,
            at: time(recorded.at),
            build: about.build.map(|id| id.0),
            task: about.task.map(|id| id.0),
            run: run.map(|id| int(id.0)),
            why: recorded.why.as_ref().map(json).transpose()?,
            body: json(&recorded.event)?,
        })
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.body.len() as u64
    }

    pub(crate) fn put(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        let mut insert = conn.prepare_cached(
            "INSERT INTO events (project, seq, at, build, task, run, why, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        insert.execute(params![
            project,
            int(self.seq),
            self.at,
            self.build,
            self.task,
            self.run,
            self.why,
            self.body
        ])?;
        Ok(())
    }
}

/// The position of the newest event.
pub(crate) fn newest(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let mut find =
        conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE project = ?1")?;
    find.query_row(params![project], |row| uint(row, 0))
}

/// Events after a position, oldest first.
pub(crate) fn page(conn: &Connection, project: i64, page: Page) -> rusqlite::Result<Vec<Recorded>> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body FROM events
         WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let found = find.query_map(params![project, int(page.after), page.limit], read)?;
    found.collect()
}

/// Calls `each` with every event after a position and the bytes of its body, oldest first.
pub(crate) fn replay(
    conn: &Connection,
    project: i64,
    after: u64,
    mut each: impl FnMut(&Recorded, u64) -> bool,
) -> rusqlite::Result<()> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body FROM events WHERE project = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = find.query(params![project, int(after)])?;
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(3)?.as_str()?.len() as u64;
        if !each(&read(row)?, bytes) {
            break;
        }
    }
    Ok(())
}

/// The decisions of a run, oldest first.
pub(crate) fn decisions(
    conn: &Connection,
    project: i64,
    run: RunId,
) -> rusqlite::Result<Vec<Recorded>> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body FROM events
         WHERE project = ?1 AND run = ?2 AND why IS NOT NULL ORDER BY seq",
    )?;
    let found = find.query_map(params![project, int(run.0)], read)?;
    found.collect()
}

/// The position of the last event; 0 where there is none.
pub(crate) fn last(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let mut find =
        conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE project = ?1")?;
    find.query_row([project], |row| uint(row, 0))
}

/// Drops the oldest events up to `upto` that happened before `before`, at most `limit` of them. It
/// stops at the first that is younger, so that what is left has no gaps.
pub(crate) fn drop_oldest(
    conn: &Connection,
    project: i64,
    upto: u64,
    before: Time,
    limit: u32,
) -> rusqlite::Result<u64> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at FROM events WHERE project = ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = find.query(params![project, int(upto), limit])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        if read_time(row, 1)? >= before {
            break;
        }
        last = Some(uint(row, 0)?);
    }
    let Some(last) = last else { return Ok(0) };
    let mut delete = conn.prepare_cached("DELETE FROM events WHERE project = ?1 AND seq <= ?2")?;
    delete.execute(params![project, int(last)]).map(|count| count as u64)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Recorded> {
    let why = match row.get_ref(2)? {
        rusqlite::types::ValueRef::Null => None,
        _ => Some(read_json(row, 2)?),
    };
    Ok(Recorded { seq: uint(row, 0)?, at: read_time(row, 1)?, why, event: read_json(row, 3)? })
}
