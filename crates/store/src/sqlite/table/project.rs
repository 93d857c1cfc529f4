//! The SQLite tables of projects (the fencing epoch, and whether the last holder closed cleanly) and of the
//! delivery progress of their channels.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::event;
use crate::chain::Seal;
use crate::sqlite::value::{read_optional_time, read_uint, to_sql_int, to_sql_time};
use crate::store::Outbox;

/// The start of a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProjectEpoch {
    /// The new epoch.
    pub(crate) epoch: i64,
    /// `true` if the last holder closed it cleanly.
    pub(crate) clean: bool,
}

/// Returns the id of a project, if it is known.
pub(crate) fn find_id(conn: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    let mut find = conn.prepare_cached("SELECT id FROM projects WHERE name = ?1")?;
    find.query_row([name], |row| row.get(0)).optional()
}

/// Returns the id of a project; an unknown one is created.
pub(crate) fn find_or_create(conn: &Connection, name: &str) -> rusqlite::Result<i64> {
    conn.execute("INSERT INTO projects (name) VALUES (?1) ON CONFLICT DO NOTHING", [name])?;
    conn.query_row("SELECT id FROM projects WHERE name = ?1", [name], |row| row.get(0))
}

/// Returns all projects: their ids and names, and whether there is a mark beside the database.
pub(crate) fn load_projects(conn: &Connection) -> rusqlite::Result<Vec<(i64, String, bool)>> {
    let mut find = conn.prepare("SELECT id, name, marked FROM projects ORDER BY id")?;
    let found = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    found.collect()
}

/// Returns whether there is a mark beside the database.
pub(crate) fn is_marked(conn: &Connection, project: i64) -> rusqlite::Result<bool> {
    conn.query_row("SELECT marked FROM projects WHERE id = ?1", [project], |row| row.get(0))
}

/// Returns the seal of the last deleted event; `None` if none was deleted, or it had none.
pub(crate) fn load_dropped_seal(conn: &Connection, project: i64) -> rusqlite::Result<Option<Seal>> {
    let bytes: Option<Vec<u8>> =
        conn.query_row("SELECT dropped FROM projects WHERE id = ?1", [project], |row| row.get(0))?;
    Ok(bytes.as_deref().and_then(Seal::from_bytes))
}

/// Claims the project: from now on no other process writes. The new epoch is later than `marked`.
pub(crate) fn start_epoch(
    conn: &Connection,
    project: i64,
    marked: i64,
) -> rusqlite::Result<ProjectEpoch> {
    let found = |row: &Row<'_>| Ok(ProjectEpoch { epoch: row.get(0)?, clean: row.get(1)? });
    let last =
        conn.query_row("SELECT epoch, clean FROM projects WHERE id = ?1", [project], found)?;
    let taken = ProjectEpoch { epoch: last.epoch.max(marked).saturating_add(1), ..last };
    conn.execute(
        "UPDATE projects SET epoch = ?2, clean = 0, marked = 1 WHERE id = ?1",
        [project, taken.epoch],
    )?;
    Ok(taken)
}

/// Returns the epoch of the project.
pub(crate) fn load_epoch(conn: &Connection, project: i64) -> rusqlite::Result<i64> {
    let mut find = conn.prepare_cached("SELECT epoch FROM projects WHERE id = ?1")?;
    find.query_row([project], |row| row.get(0))
}

/// Records that the project was closed cleanly.
pub(crate) fn mark_clean(conn: &Connection, project: i64) -> rusqlite::Result<()> {
    conn.execute("UPDATE projects SET clean = 1 WHERE id = ?1", [project])?;
    Ok(())
}

/// Returns the progress of a channel; a new one begins after the last event. The caller holds a write
/// transaction.
pub(crate) fn open_outbox(
    conn: &Connection,
    project: i64,
    channel: &str,
) -> rusqlite::Result<Outbox> {
    if let Some(known) = find_outbox(conn, project, channel)? {
        return Ok(known);
    }
    let outbox = Outbox::delivered_up_to(event::load_journal_end(conn, project)?);
    upsert_outbox(conn, project, channel, &outbox)?;
    Ok(outbox)
}

/// Records the progress of a channel, unless it is already further.
pub(crate) fn upsert_outbox(
    conn: &Connection,
    project: i64,
    channel: &str,
    outbox: &Outbox,
) -> rusqlite::Result<()> {
    let mut upsert = conn.prepare_cached(
        "INSERT INTO outbox (project, channel, upto, tries, retry_at)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (project, channel) DO UPDATE SET
           upto = excluded.upto, tries = excluded.tries, retry_at = excluded.retry_at
         WHERE excluded.upto >= outbox.upto",
    )?;
    let Outbox { upto, tries, retry_at } = *outbox;
    upsert.execute(params![
        project,
        channel,
        to_sql_int(upto),
        tries,
        retry_at.map(to_sql_time)
    ])?;
    Ok(())
}

fn find_outbox(conn: &Connection, project: i64, channel: &str) -> rusqlite::Result<Option<Outbox>> {
    let mut find = conn.prepare_cached(
        "SELECT upto, tries, retry_at FROM outbox WHERE project = ?1 AND channel = ?2",
    )?;
    find.query_row(params![project, channel], read_outbox).optional()
}

fn read_outbox(row: &Row<'_>) -> rusqlite::Result<Outbox> {
    Ok(Outbox {
        upto: read_uint(row, 0)?,
        tries: row.get(1)?,
        retry_at: read_optional_time(row, 2)?,
    })
}
