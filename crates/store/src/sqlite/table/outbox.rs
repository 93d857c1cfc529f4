//! The SQLite table of the channels' delivery progress.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::time::Time;

use super::{event, snapshot};
use crate::outbox::Outbox;
use crate::sqlite::value::{read_optional_uint, read_uint, to_sql_int, to_sql_time};

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
    let remembered = snapshot::load_positions(conn, project)?.first().copied().unwrap_or(0);
    let outbox = Outbox::delivered_up_to(event::load_last_seq(conn, project)?.max(remembered));
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
    find.query_row(params![project, channel], read_row).optional()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<Outbox> {
    let retry_at = read_optional_uint(row, 2)?.map(Time::from_millis);
    Ok(Outbox { upto: read_uint(row, 0)?, tries: row.get(1)?, retry_at })
}
