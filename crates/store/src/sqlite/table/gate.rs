//! The SQLite table of gates.

use rusqlite::{Connection, params};

use crate::sqlite::value::{read_json, to_json};
use crate::tables::GateRow;

/// A gate ready to be written.
#[derive(Debug)]
pub(crate) struct GateUpsert {
    key: i64,
    body: String,
}

impl GateUpsert {
    pub(crate) fn from_row(row: &GateRow) -> serde_json::Result<Self> {
        // A key is a hash: all its bits count, the sign bit too.
        Ok(Self { key: row.key.0.cast_signed(), body: to_json(row)? })
    }

    pub(crate) fn upsert_row(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        let mut upsert = conn.prepare_cached(
            "INSERT INTO gates (project, key, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (project, key) DO UPDATE SET body = excluded.body",
        )?;
        upsert.execute(params![project, self.key, self.body])?;
        Ok(())
    }
}

/// Returns all gates, in the order of their keys.
pub(crate) fn load_all(conn: &Connection, project: i64) -> rusqlite::Result<Vec<GateRow>> {
    let mut find = conn.prepare_cached("SELECT body FROM gates WHERE project = ?1")?;
    let found = find.query_map([project], |row| read_json(row, 0))?;
    let mut all: Vec<GateRow> = found.collect::<rusqlite::Result<_>>()?;
    all.sort_by_key(|row| row.key);
    Ok(all)
}
