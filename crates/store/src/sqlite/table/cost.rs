//! The SQLite table of costs.

use rusqlite::{Connection, Row, params};
use unstuck_core::engine::TaskId;

use crate::sqlite::value::{read_amount, read_uint, to_sql_int};
use crate::tables::CostRow;

/// Adds an additional cost.
pub(crate) fn add_cost(conn: &Connection, project: i64, row: &CostRow) -> rusqlite::Result<()> {
    let mut upsert = conn.prepare_cached(
        "INSERT INTO costs (project, day, task, money_micros, tokens, time_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project, day, task) DO UPDATE SET
           money_micros = money_micros + excluded.money_micros,
           tokens = tokens + excluded.tokens, time_ms = time_ms + excluded.time_ms",
    )?;
    let spent = row.spent;
    upsert.execute(params![
        project,
        to_sql_int(row.day),
        row.task.0,
        to_sql_int(spent.money_micros),
        to_sql_int(spent.tokens),
        to_sql_int(spent.time_ms)
    ])?;
    Ok(())
}

/// Returns the costs of this day and later, by day and task.
pub(crate) fn load_since(
    conn: &Connection,
    project: i64,
    day: u64,
) -> rusqlite::Result<Vec<CostRow>> {
    let mut find = conn.prepare_cached(
        "SELECT day, task, money_micros, tokens, time_ms FROM costs
         WHERE project = ?1 AND day >= ?2 ORDER BY day, task",
    )?;
    let found = find.query_map([project, to_sql_int(day)], read_row)?;
    found.collect()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<CostRow> {
    Ok(CostRow { day: read_uint(row, 0)?, task: TaskId(row.get(1)?), spent: read_amount(row, 2)? })
}
