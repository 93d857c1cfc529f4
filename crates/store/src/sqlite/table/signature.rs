//! The SQLite table of errors and their retry counts.

use rusqlite::{Connection, Row, params};

use crate::sqlite::value::{read_shown, read_time, read_uint, to_sql_int, to_sql_time};
use crate::tables::SignatureRow;

pub(crate) fn upsert_signature(
    conn: &Connection,
    project: i64,
    row: &SignatureRow,
) -> rusqlite::Result<()> {
    let mut upsert = conn.prepare_cached(
        "INSERT INTO signatures (project, signature, count, total, first_seen, last_seen)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project, signature) DO UPDATE SET count = excluded.count,
           total = excluded.total, first_seen = excluded.first_seen,
           last_seen = excluded.last_seen",
    )?;
    upsert.execute(params![
        project,
        row.signature.to_string(),
        row.count,
        to_sql_int(row.total),
        to_sql_time(row.first_seen),
        to_sql_time(row.last_seen)
    ])?;
    Ok(())
}

/// Returns all errors, the latest first.
pub(crate) fn load_all(conn: &Connection, project: i64) -> rusqlite::Result<Vec<SignatureRow>> {
    let mut find = conn.prepare_cached(
        "SELECT signature, count, total, first_seen, last_seen FROM signatures
         WHERE project = ?1 ORDER BY last_seen DESC, signature",
    )?;
    let found = find.query_map([project], read_row)?;
    found.collect()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<SignatureRow> {
    Ok(SignatureRow {
        signature: read_shown(row, 0)?,
        count: row.get(1)?,
        total: read_uint(row, 2)?,
        first_seen: read_time(row, 3)?,
        last_seen: read_time(row, 4)?,
    })
}
