//! The SQLite table of the journal.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::{Event, MutationId, Recorded, RunId};
use unstuck_core::time::Time;

use crate::chain::{Link, Seal};
use crate::sqlite::value::{int, json, maybe_uint, read_json, read_time, time, uint};
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
    /// The action that is dispatched once the event is on disk.
    pub(crate) lets_go: Option<MutationId>,
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
            lets_go: match &recorded.event {
                Event::MutationInFlight { mutation, .. } => Some(*mutation),
                _ => None,
            },
        })
    }

    /// Returns the time of the event.
    pub(crate) const fn at(&self) -> i64 {
        self.at
    }

    fn link(&self) -> Link<'_> {
        let Self { seq, at, build, task, run, .. } = *self;
        Link { seq, at, build, task, run, why: self.why.as_deref(), body: &self.body }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.body.len() as u64
    }

    /// Writes the event after one with this seal; returns its own seal.
    pub(crate) fn put(
        &self,
        conn: &Connection,
        project: i64,
        before: Seal,
    ) -> rusqlite::Result<Seal> {
        let seal = before.next(&self.link());
        let mut insert = conn.prepare_cached(
            "INSERT INTO events (project, seq, at, build, task, run, why, body, seal)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        insert.execute(params![
            project,
            int(self.seq),
            self.at,
            self.build,
            self.task,
            self.run,
            self.why,
            self.body,
            seal.as_bytes()
        ])?;
        Ok(seal)
    }
}

/// Returns the position of the newest event.
pub(crate) fn newest(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let mut find =
        conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE project = ?1")?;
    find.query_row(params![project], |row| uint(row, 0))
}

/// Returns the events after a position, oldest first.
pub(crate) fn page(conn: &Connection, project: i64, page: Page) -> rusqlite::Result<Vec<Recorded>> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body FROM events
         WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let found = find.query_map(params![project, int(page.after), page.limit], read)?;
    found.collect()
}

/// An event in the journal.
pub(crate) struct Found<'a> {
    pub(crate) link: Link<'a>,
    /// The seal written with it; `None` from before seals existed.
    pub(crate) seal: Option<Seal>,
    row: &'a Row<'a>,
}

impl Found<'_> {
    pub(crate) fn recorded(&self) -> rusqlite::Result<Recorded> {
        read(self.row)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.link.body.len() as u64
    }
}

/// Calls `each` with every event after a position, oldest first, until it returns `false`.
pub(crate) fn replay<E: From<rusqlite::Error>>(
    conn: &Connection,
    project: i64,
    after: u64,
    mut each: impl FnMut(&Found<'_>) -> Result<bool, E>,
) -> Result<(), E> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body, build, task, run, seal FROM events
         WHERE project = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = find.query(params![project, int(after)])?;
    while let Some(row) = rows.next()? {
        let link = Link {
            seq: uint(row, 0)?,
            at: row.get(1)?,
            build: row.get(4)?,
            task: row.get(5)?,
            run: row.get(6)?,
            why: row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?,
            body: row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?,
        };
        let seal = row.get_ref(7)?.as_bytes_or_null().map_err(rusqlite::Error::from)?;
        let seal = seal.map(|bytes| Seal::from_bytes(bytes).ok_or_else(|| unsealable(7)));
        if !each(&Found { link, seal: seal.transpose()?, row })? {
            break;
        }
    }
    Ok(())
}

fn unsealable(column: usize) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, "seal".to_owned(), Type::Blob)
}

/// The content of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// No event.
    Empty,
    /// An event from before seals existed.
    Unsealed,
    /// An event with its seal.
    Sealed(Seal),
}

/// Returns the content of a position.
pub(crate) fn place(conn: &Connection, project: i64, seq: u64) -> rusqlite::Result<Place> {
    let mut find =
        conn.prepare_cached("SELECT seal FROM events WHERE project = ?1 AND seq = ?2")?;
    let found = find.query_row(params![project, int(seq)], |row| row.get::<_, Option<Vec<u8>>>(0));
    match found.optional()? {
        None => Ok(Place::Empty),
        Some(None) => Ok(Place::Unsealed),
        Some(Some(bytes)) => {
            Seal::from_bytes(&bytes).map(Place::Sealed).ok_or_else(|| unsealable(0))
        }
    }
}

/// Seals an event from before seals existed.
pub(crate) fn set_seal(
    conn: &Connection,
    project: i64,
    seq: u64,
    seal: Seal,
) -> rusqlite::Result<()> {
    let mut update =
        conn.prepare_cached("UPDATE events SET seal = ?3 WHERE project = ?1 AND seq = ?2")?;
    update.execute(params![project, int(seq), seal.as_bytes()]).map(drop)
}

/// Returns the position of the oldest event; `None` if there is no event.
pub(crate) fn first(conn: &Connection, project: i64) -> rusqlite::Result<Option<u64>> {
    let mut find = conn.prepare_cached("SELECT min(seq) FROM events WHERE project = ?1")?;
    find.query_row([project], |row| maybe_uint(row, 0))
}

/// Returns the decisions of a run, oldest first.
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

/// Returns the position of the last event; 0 if there is none.
pub(crate) fn last(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let mut find =
        conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE project = ?1")?;
    find.query_row([project], |row| uint(row, 0))
}

/// Deletes the oldest events up to `upto` from before `before`, at most `limit` of them. It stops at the
/// first younger one, so that the rest has no gaps.
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
    // The remaining events are chained to the last deleted one.
    conn.execute(
        "UPDATE projects SET dropped = (SELECT seal FROM events WHERE project = ?1 AND seq = ?2)
         WHERE id = ?1",
        params![project, int(last)],
    )?;
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
