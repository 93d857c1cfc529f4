//! The SQLite tables of the journal: the events, and the snapshots (the newest, and one to fall back to).

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::{Event, MutationId, RecordedEvent, RunId};
use unstuck_core::time::Time;

use crate::chain::{ChainLink, Seal};
use crate::sqlite::value::{
    read_json, read_optional_json, read_optional_uint, read_time, read_uint, to_json, to_sql_int,
    to_sql_time,
};
use crate::store::EventPage;

/// Number of snapshots kept.
pub(crate) const SNAPSHOTS_KEPT: u8 = 2;

/// An event ready to be written.
#[derive(Debug)]
pub(crate) struct EventInsert {
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

impl EventInsert {
    pub(crate) fn from_recorded(
        recorded: &RecordedEvent,
        run: Option<RunId>,
    ) -> serde_json::Result<Self> {
        let about = recorded.event.subject_ids();
        Ok(Self {
            seq: recorded.seq,
            at: to_sql_time(recorded.at),
            build: about.build.map(|id| id.0),
            task: about.task.map(|id| id.0),
            run: run.map(|id| to_sql_int(id.0)),
            why: recorded.why.as_ref().map(to_json).transpose()?,
            body: to_json(&recorded.event)?,
            lets_go: match &recorded.event {
                Event::MutationInFlight { mutation, .. } => Some(*mutation),
                _ => None,
            },
        })
    }

    /// Returns the time of the event.
    pub(crate) const fn recorded_at(&self) -> i64 {
        self.at
    }

    fn as_link(&self) -> ChainLink<'_> {
        let Self { seq, at, build, task, run, .. } = *self;
        ChainLink { seq, at, build, task, run, why: self.why.as_deref(), body: &self.body }
    }

    pub(crate) const fn byte_len(&self) -> u64 {
        self.body.len() as u64
    }

    /// Writes the event after one with this seal; returns its own seal.
    pub(crate) fn insert_row(
        &self,
        conn: &Connection,
        project: i64,
        before: Seal,
    ) -> rusqlite::Result<Seal> {
        let seal = before.next_seal(&self.as_link());
        let mut insert = conn.prepare_cached(
            "INSERT INTO events (project, seq, at, build, task, run, why, body, seal)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        insert.execute(params![
            project,
            to_sql_int(self.seq),
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

/// Returns the position of the newest event; 0 if there is none.
pub(crate) fn load_newest_seq(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let mut find =
        conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE project = ?1")?;
    find.query_row(params![project], |row| read_uint(row, 0))
}

/// Returns the position at which a journal ends: that of the newest event or snapshot.
pub(crate) fn load_journal_end(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let remembered = load_snapshot_positions(conn, project)?.first().copied().unwrap_or(0);
    Ok(load_newest_seq(conn, project)?.max(remembered))
}

/// Returns the events after a position, oldest first.
pub(crate) fn load_event_page(
    conn: &Connection,
    project: i64,
    page: EventPage,
) -> rusqlite::Result<Vec<RecordedEvent>> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body FROM events
         WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let found = find.query_map(params![project, to_sql_int(page.after), page.limit], read_event)?;
    found.collect()
}

/// An event in the journal.
pub(crate) struct JournalRow<'a> {
    pub(crate) link: ChainLink<'a>,
    /// The seal written with it; `None` from before seals existed.
    pub(crate) seal: Option<Seal>,
    row: &'a Row<'a>,
}

impl JournalRow<'_> {
    pub(crate) fn read_recorded(&self) -> rusqlite::Result<RecordedEvent> {
        read_event(self.row)
    }

    pub(crate) const fn byte_len(&self) -> u64 {
        self.link.body.len() as u64
    }
}

/// Calls `each` with every event after a position, oldest first, until it returns `false`.
pub(crate) fn replay_events<E: From<rusqlite::Error>>(
    conn: &Connection,
    project: i64,
    after: u64,
    mut each: impl FnMut(&JournalRow<'_>) -> Result<bool, E>,
) -> Result<(), E> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body, build, task, run, seal FROM events
         WHERE project = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = find.query(params![project, to_sql_int(after)])?;
    while let Some(row) = rows.next()? {
        let link = ChainLink {
            seq: read_uint(row, 0)?,
            at: row.get(1)?,
            build: row.get(4)?,
            task: row.get(5)?,
            run: row.get(6)?,
            why: row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?,
            body: row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?,
        };
        let seal = row.get_ref(7)?.as_bytes_or_null().map_err(rusqlite::Error::from)?;
        let seal = seal.map(|bytes| Seal::from_bytes(bytes).ok_or_else(|| seal_type_error(7)));
        if !each(&JournalRow { link, seal: seal.transpose()?, row })? {
            break;
        }
    }
    Ok(())
}

fn seal_type_error(column: usize) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, "seal".to_owned(), Type::Blob)
}

/// The content of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventSlot {
    /// No event.
    Empty,
    /// An event from before seals existed.
    Unsealed,
    /// An event with its seal.
    Sealed(Seal),
}

/// Returns the content of a position.
pub(crate) fn load_slot(conn: &Connection, project: i64, seq: u64) -> rusqlite::Result<EventSlot> {
    let mut find =
        conn.prepare_cached("SELECT seal FROM events WHERE project = ?1 AND seq = ?2")?;
    let found =
        find.query_row(params![project, to_sql_int(seq)], |row| row.get::<_, Option<Vec<u8>>>(0));
    match found.optional()? {
        None => Ok(EventSlot::Empty),
        Some(None) => Ok(EventSlot::Unsealed),
        Some(Some(bytes)) => {
            Seal::from_bytes(&bytes).map(EventSlot::Sealed).ok_or_else(|| seal_type_error(0))
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
    update.execute(params![project, to_sql_int(seq), seal.as_bytes()]).map(drop)
}

/// Returns the position of the oldest event; `None` if there is no event.
pub(crate) fn load_first_seq(conn: &Connection, project: i64) -> rusqlite::Result<Option<u64>> {
    let mut find = conn.prepare_cached("SELECT min(seq) FROM events WHERE project = ?1")?;
    find.query_row([project], |row| read_optional_uint(row, 0))
}

/// Returns the decisions of a run, oldest first.
pub(crate) fn load_run_decisions(
    conn: &Connection,
    project: i64,
    run: RunId,
) -> rusqlite::Result<Vec<RecordedEvent>> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at, why, body FROM events
         WHERE project = ?1 AND run = ?2 AND why IS NOT NULL ORDER BY seq",
    )?;
    let found = find.query_map(params![project, to_sql_int(run.0)], read_event)?;
    found.collect()
}

/// Deletes the oldest events up to `upto` from before `before`, at most `limit` of them. It stops at the
/// first younger one, so that the rest has no gaps.
pub(crate) fn delete_oldest_events(
    conn: &Connection,
    project: i64,
    upto: u64,
    before: Time,
    limit: u32,
) -> rusqlite::Result<u64> {
    let mut find = conn.prepare_cached(
        "SELECT seq, at FROM events WHERE project = ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = find.query(params![project, to_sql_int(upto), limit])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        if read_time(row, 1)? >= before {
            break;
        }
        last = Some(read_uint(row, 0)?);
    }
    let Some(last) = last else { return Ok(0) };
    // The remaining events are chained to the last deleted one.
    conn.execute(
        "UPDATE projects SET dropped = (SELECT seal FROM events WHERE project = ?1 AND seq = ?2)
         WHERE id = ?1",
        params![project, to_sql_int(last)],
    )?;
    let mut delete = conn.prepare_cached("DELETE FROM events WHERE project = ?1 AND seq <= ?2")?;
    delete.execute(params![project, to_sql_int(last)]).map(|count| count as u64)
}

fn read_event(row: &Row<'_>) -> rusqlite::Result<RecordedEvent> {
    Ok(RecordedEvent {
        seq: read_uint(row, 0)?,
        at: read_time(row, 1)?,
        why: read_optional_json(row, 2)?,
        event: read_json(row, 3)?,
    })
}

/// Inserts a snapshot, and deletes those that are no longer kept.
pub(crate) fn insert_snapshot(
    conn: &Connection,
    project: i64,
    seq: u64,
    body: &[u8],
) -> rusqlite::Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO snapshots (project, seq, body) VALUES (?1, ?2, ?3)
         ON CONFLICT (project, seq) DO UPDATE SET body = excluded.body",
    )?;
    insert.execute(params![project, to_sql_int(seq), body])?;
    let mut delete = conn.prepare_cached(
        "DELETE FROM snapshots WHERE project = ?1 AND seq NOT IN
         (SELECT seq FROM snapshots WHERE project = ?1 ORDER BY seq DESC LIMIT ?2)",
    )?;
    delete.execute(params![project, SNAPSHOTS_KEPT])?;
    Ok(())
}

/// Returns the positions of the snapshots, newest first.
pub(crate) fn load_snapshot_positions(
    conn: &Connection,
    project: i64,
) -> rusqlite::Result<Vec<u64>> {
    let mut find =
        conn.prepare_cached("SELECT seq FROM snapshots WHERE project = ?1 ORDER BY seq DESC")?;
    let found = find.query_map([project], |row| read_uint(row, 0))?;
    found.collect()
}

/// Returns the snapshot at a position.
pub(crate) fn load_snapshot(
    conn: &Connection,
    project: i64,
    seq: u64,
) -> rusqlite::Result<Vec<u8>> {
    let mut find =
        conn.prepare_cached("SELECT body FROM snapshots WHERE project = ?1 AND seq = ?2")?;
    find.query_row(params![project, to_sql_int(seq)], |row| row.get(0))
}
