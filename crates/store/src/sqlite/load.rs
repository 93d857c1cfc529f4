//! Loading of a project's state: the newest readable snapshot, and the events after it.

use std::path::Path;

use rusqlite::Connection;
use unstuck_core::engine::State;

use super::journaled::{Tip, damaged, last, next, seal_at};
use super::readers::ReadError;
use super::table::{event, snapshot};
use crate::snapshot::{Tail, read};

/// Reads a project and the end of its journal, verifying the seals.
pub(super) fn load(
    conn: &Connection,
    at: &Path,
    project: i64,
    name: &str,
) -> Result<(State, Tip, Tail), ReadError> {
    let (mut state, snapshot_bytes) = newest(conn, project, name)?;
    let missing = |seq: u64| damaged(at, format!("event {seq} is missing from the journal"));
    let seal = seal_at(conn, project, name, state.seq())?;
    let mut seal = seal.ok_or_else(|| missing(state.seq().max(1)))?;
    let mut events_bytes = 0;
    event::replay(conn, project, state.seq(), |found| {
        seal = next(at, seal, state.seq(), found)?;
        state.apply(&found.recorded()?);
        events_bytes += found.bytes();
        Ok::<_, ReadError>(true)
    })?;
    if state.seq() != last(conn, project)? {
        return Err(missing(state.seq() + 1).into());
    }
    let tip = Tip { seq: state.seq(), seal };
    Ok((state, tip, Tail::new(events_bytes, snapshot_bytes)))
}

/// Returns the newest readable snapshot and its size; without one, the initial state.
fn newest(conn: &Connection, project: i64, name: &str) -> rusqlite::Result<(State, u64)> {
    for seq in snapshot::positions(conn, project)? {
        let body = snapshot::at(conn, project, seq)?;
        if let Some(state) = read(&body, name, seq) {
            return Ok((state, body.len() as u64));
        }
    }
    Ok((State::new(name), 0))
}
