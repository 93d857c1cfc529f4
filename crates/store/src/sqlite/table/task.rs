//! The SQLite table of tasks and jobs.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::{BuildId, TaskId};

use crate::sqlite::value::{read_json, to_json};
use crate::tables::{TaskChange, TaskRow};

/// A new task ready to be written.
#[derive(Debug)]
pub(crate) struct TaskUpsert {
    id: u32,
    build: u32,
    spec: String,
    moved: String,
}

/// A changed task, ready to be written.
#[derive(Debug)]
pub(crate) struct TaskRowUpdate {
    id: u32,
    moved: String,
}

impl TaskUpsert {
    pub(crate) fn from_row(row: &TaskRow) -> serde_json::Result<Self> {
        let spec = to_json(&row.spec)?;
        let moved = to_json(&row.moved)?;
        Ok(Self { id: row.id.0, build: row.build.0, spec, moved })
    }

    pub(crate) fn upsert_row(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        let mut upsert = conn.prepare_cached(
            "INSERT INTO tasks (project, id, build, spec, moved) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (project, id) DO UPDATE SET
               build = excluded.build, spec = excluded.spec, moved = excluded.moved",
        )?;
        upsert.execute(params![project, self.id, self.build, self.spec, self.moved])?;
        Ok(())
    }
}

impl TaskRowUpdate {
    pub(crate) fn from_change(id: TaskId, change: &TaskChange) -> serde_json::Result<Self> {
        Ok(Self { id: id.0, moved: to_json(change)? })
    }

    pub(crate) fn update_row(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        let mut update =
            conn.prepare_cached("UPDATE tasks SET moved = ?3 WHERE project = ?1 AND id = ?2")?;
        update.execute(params![project, self.id, self.moved])?;
        Ok(())
    }
}

/// Returns the tasks of a build, in the order of their ids.
pub(crate) fn load_for_build(
    conn: &Connection,
    project: i64,
    build: BuildId,
) -> rusqlite::Result<Vec<TaskRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, build, spec, moved FROM tasks WHERE project = ?1 AND build = ?2 ORDER BY id",
    )?;
    let found = find.query_map(params![project, build.0], read_row)?;
    found.collect()
}

/// Returns a task.
pub(crate) fn load_one(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Option<TaskRow>> {
    let mut find = conn.prepare_cached(
        "SELECT id, build, spec, moved FROM tasks WHERE project = ?1 AND id = ?2",
    )?;
    find.query_row(params![project, task.0], read_row).optional()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: TaskId(row.get(0)?),
        build: BuildId(row.get(1)?),
        spec: read_json(row, 2)?,
        moved: read_json(row, 3)?,
    })
}
