//! What a journal adds up to: the newest snapshot that can be read, and the events after it.

use std::path::Path;

use rusqlite::Connection;
use unstuck_core::engine::State;

use super::readers::ReadError;
use super::table::{event, snapshot};
use crate::error::StoreError;
use crate::snapshot::{Tail, read};

/// Reads a project whose journal ends at `last`.
pub(super) fn load(
    conn: &Connection,
    at: &Path,
    project: i64,
    name: &str,
    last: u64,
) -> Result<(State, Tail), ReadError> {
    let (mut state, snapshot_bytes) = newest(conn, project, name)?;
    let mut events_bytes = 0;
    event::replay(conn, project, state.seq(), |recorded, bytes| {
        let follows = recorded.seq == state.seq() + 1;
        if follows {
            state.apply(recorded);
            events_bytes += bytes;
        }
        follows
    })?;
    if state.seq() != last {
        let what = format!("event {} is missing from the journal", state.seq() + 1);
        return Err(StoreError::Damaged { at: at.display().to_string(), what }.into());
    }
    Ok((state, Tail::new(events_bytes, snapshot_bytes)))
}

/// The newest snapshot that can be read and its size; where there is none, the beginning.
fn newest(conn: &Connection, project: i64, name: &str) -> rusqlite::Result<(State, u64)> {
    for seq in snapshot::positions(conn, project)? {
        let body = snapshot::at(conn, project, seq)?;
        if let Some(state) = read(&body, name, seq) {
            return Ok((state, body.len() as u64));
        }
    }
    Ok((State::new(name), 0))
}
