//! The SQLite table of snapshots: the newest, and one to fall back to.

use rusqlite::{Connection, params};

use crate::sqlite::value::{read_uint, to_sql_int};

/// Number of snapshots kept.
pub(crate) const KEPT: u8 = 2;

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
    delete.execute(params![project, KEPT])?;
    Ok(())
}

/// Returns the positions of the snapshots, newest first.
pub(crate) fn load_positions(conn: &Connection, project: i64) -> rusqlite::Result<Vec<u64>> {
    let mut find =
        conn.prepare_cached("SELECT seq FROM snapshots WHERE project = ?1 ORDER BY seq DESC")?;
    let found = find.query_map([project], |row| read_uint(row, 0))?;
    found.collect()
}

/// Returns the snapshot at a position.
pub(crate) fn load_body(conn: &Connection, project: i64, seq: u64) -> rusqlite::Result<Vec<u8>> {
    let mut find =
        conn.prepare_cached("SELECT body FROM snapshots WHERE project = ?1 AND seq = ?2")?;
    find.query_row(params![project, to_sql_int(seq)], |row| row.get(0))
}
