//! The SQLite table of checkpoints: the latest conversation of each task that has one.

use std::sync::Arc;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};
use unstuck_core::engine::TaskId;

use crate::checkpoint::{Checkpoint, StoredConversation};

pub(crate) fn upsert_checkpoint(
    conn: &Connection,
    project: i64,
    checkpoint: &Checkpoint,
) -> rusqlite::Result<()> {
    let mut upsert = conn.prepare_cached(
        "INSERT INTO checkpoints (project, task, conversation) VALUES (?1, ?2, ?3)
         ON CONFLICT (project, task) DO UPDATE SET conversation = excluded.conversation",
    )?;
    upsert.execute(params![project, checkpoint.task.0, checkpoint.conversation.as_str()])?;
    Ok(())
}

/// Deletes the checkpoint of a conversation that is over.
pub(crate) fn delete_checkpoint(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<()> {
    let mut delete =
        conn.prepare_cached("DELETE FROM checkpoints WHERE project = ?1 AND task = ?2")?;
    delete.execute(params![project, task.0])?;
    Ok(())
}

pub(crate) fn load_for_task(
    conn: &Connection,
    project: i64,
    task: TaskId,
) -> rusqlite::Result<Option<StoredConversation>> {
    let mut find = conn
        .prepare_cached("SELECT conversation FROM checkpoints WHERE project = ?1 AND task = ?2")?;
    let text = find.query_row(params![project, task.0], |row| row.get::<_, Arc<str>>(0));
    let unreadable =
        |error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error));
    text.optional()?.map(StoredConversation::new).transpose().map_err(unreadable)
}
