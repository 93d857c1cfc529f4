//! The SQLite table of snapshots: the newest, and one to fall back to.

use rusqlite::{Connection, params};

use crate::sqlite::value::{int, uint};

/// Number of snapshots kept.
pub(crate) const KEPT: u8 = 2;

pub(crate) fn put(conn: &Connection, project: i64, seq: u64, body: &[u8]) -> rusqlite::Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO snapshots (project, seq, body) VALUES (?1, ?2, ?3)
         ON CONFLICT (project, seq) DO UPDATE SET body = excluded.body",
    )?;
    insert.execute(params![project, int(seq), body])?;
    let mut delete = conn.prepare_cached(
        "DELETE FROM snapshots WHERE project = ?1 AND seq NOT IN
         (SELECT seq FROM snapshots WHERE project = ?1 ORDER BY seq DESC LIMIT ?2)",
    )?;
    delete.execute(params![project, KEPT])?;
    Ok(())
}

/// Returns the positions of the snapshots, newest first.
pub(crate) fn positions(conn: &Connection, project: i64) -> rusqlite::Result<Vec<u64>> {
    let mut find =
        conn.prepare_cached("SELECT seq FROM snapshots WHERE project = ?1 ORDER BY seq DESC")?;
    let found = find.query_map([project], |row| uint(row, 0))?;
    found.collect()
}

/// Returns the snapshot at a position.
pub(crate) fn at(conn: &Connection, project: i64, seq: u64) -> rusqlite::Result<Vec<u8>> {
    let mut find =
        conn.prepare_cached("SELECT body FROM snapshots WHERE project = ?1 AND seq = ?2")?;
    find.query_row(params![project, int(seq)], |row| row.get(0))
}
