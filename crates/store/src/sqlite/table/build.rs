//! The SQLite table of builds.

use rusqlite::{Connection, Row, params};

use crate::sqlite::value::{read_json, read_optional_uint, read_time, to_json, to_sql_time};
use crate::tables::BuildRow;
use unstuck_core::time::Time;

/// A build ready to be written.
#[derive(Debug)]
pub(crate) struct BuildUpsert {
    id: u32,
    standing: bool,
    started_at: i64,
    ended_at: Option<i64>,
    body: String,
}

impl BuildUpsert {
    pub(crate) fn from_row(row: &BuildRow) -> serde_json::Result<Self> {
        Ok(Self {
            id: row.id.0,
            standing: row.standing,
            started_at: to_sql_time(row.started_at),
            ended_at: row.ended_at.map(to_sql_time),
            body: to_json(row)?,
        })
    }

    /// Upserts the row. The first start stays, and so does the first end until the build is revived.
    pub(crate) fn upsert_row(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        let mut upsert = conn.prepare_cached(
            "INSERT INTO builds (project, id, standing, started_at, ended_at, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (project, id) DO UPDATE SET body = excluded.body, ended_at = CASE
               WHEN excluded.ended_at IS NULL THEN NULL
               ELSE coalesce(ended_at, excluded.ended_at) END",
        )?;
        upsert.execute(params![
            project,
            self.id,
            self.standing,
            self.started_at,
            self.ended_at,
            self.body
        ])?;
        Ok(())
    }
}

/// Returns all builds, newest first.
pub(crate) fn load_all(conn: &Connection, project: i64) -> rusqlite::Result<Vec<BuildRow>> {
    let mut find = conn.prepare_cached(
        "SELECT body, started_at, ended_at FROM builds WHERE project = ?1 ORDER BY id DESC",
    )?;
    let found = find.query_map([project], read_row)?;
    found.collect()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<BuildRow> {
    let written: BuildRow = read_json(row, 0)?;
    let ended_at = read_optional_uint(row, 2)?.map(Time::from_millis);
    Ok(BuildRow { started_at: read_time(row, 1)?, ended_at, ..written })
}
