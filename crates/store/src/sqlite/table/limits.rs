//! The SQLite tables behind the limits: gates, errors with their retry counts, and costs.

use rusqlite::{Connection, Row};
use unstuck_core::engine::TaskId;

use crate::sqlite::value::{
    RowWrite, read_amount, read_json, read_shown, read_time, read_uint, to_json, to_sql_int,
    to_sql_time,
};
use crate::tables::{CostRow, GateRow, SignatureRow};

pub(crate) fn upsert_gate(row: &GateRow) -> serde_json::Result<RowWrite> {
    let sql = "INSERT INTO gates (project, key, body) VALUES (?1, ?2, ?3)
         ON CONFLICT (project, key) DO UPDATE SET body = excluded.body";
    // A key is a hash: all its bits count, the sign bit too.
    Ok(RowWrite::new(sql, [row.key.0.cast_signed().into(), to_json(row)?.into()]))
}

/// Returns all gates, in the order of their keys.
pub(crate) fn load_gates(conn: &Connection, project: i64) -> rusqlite::Result<Vec<GateRow>> {
    let mut find = conn.prepare_cached("SELECT body FROM gates WHERE project = ?1")?;
    let found = find.query_map([project], |row| read_json(row, 0))?;
    let mut all: Vec<GateRow> = found.collect::<rusqlite::Result<_>>()?;
    all.sort_by_key(|row| row.key);
    Ok(all)
}

/// Upserts the record of an error.
pub(crate) fn upsert_signature(row: &SignatureRow) -> RowWrite {
    RowWrite::new(
        "INSERT INTO signatures (project, signature, count, total, first_seen, last_seen)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project, signature) DO UPDATE SET count = excluded.count,
           total = excluded.total, first_seen = excluded.first_seen,
           last_seen = excluded.last_seen",
        [
            row.signature.to_string().into(),
            row.count.into(),
            to_sql_int(row.total).into(),
            to_sql_time(row.first_seen).into(),
            to_sql_time(row.last_seen).into(),
        ],
    )
}

/// Returns all errors, the latest first.
pub(crate) fn load_signatures(
    conn: &Connection,
    project: i64,
) -> rusqlite::Result<Vec<SignatureRow>> {
    let mut find = conn.prepare_cached(
        "SELECT signature, count, total, first_seen, last_seen FROM signatures
         WHERE project = ?1 ORDER BY last_seen DESC, signature",
    )?;
    let found = find.query_map([project], read_signature)?;
    found.collect()
}

fn read_signature(row: &Row<'_>) -> rusqlite::Result<SignatureRow> {
    Ok(SignatureRow {
        signature: read_shown(row, 0)?,
        count: row.get(1)?,
        total: read_uint(row, 2)?,
        first_seen: read_time(row, 3)?,
        last_seen: read_time(row, 4)?,
    })
}

/// Adds an additional cost.
pub(crate) fn add_cost(row: &CostRow) -> RowWrite {
    RowWrite::new(
        "INSERT INTO costs (project, day, task, money_micros, tokens, time_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project, day, task) DO UPDATE SET
           money_micros = money_micros + excluded.money_micros,
           tokens = tokens + excluded.tokens, time_ms = time_ms + excluded.time_ms",
        [
            to_sql_int(row.day).into(),
            row.task.0.into(),
            to_sql_int(row.spent.money_micros).into(),
            to_sql_int(row.spent.tokens).into(),
            to_sql_int(row.spent.time_ms).into(),
        ],
    )
}

/// Returns the costs of this day and later, by day and task.
pub(crate) fn load_costs(
    conn: &Connection,
    project: i64,
    day: u64,
) -> rusqlite::Result<Vec<CostRow>> {
    let mut find = conn.prepare_cached(
        "SELECT day, task, money_micros, tokens, time_ms FROM costs
         WHERE project = ?1 AND day >= ?2 ORDER BY day, task",
    )?;
    let found = find.query_map([project, to_sql_int(day)], read_cost)?;
    found.collect()
}

fn read_cost(row: &Row<'_>) -> rusqlite::Result<CostRow> {
    Ok(CostRow { day: read_uint(row, 0)?, task: TaskId(row.get(1)?), spent: read_amount(row, 2)? })
}
