//! Loading of a project's state: the newest readable snapshot, and the events after it.

use std::path::Path;

use rusqlite::Connection;
use unstuck_core::engine::State;

use super::journaled::{JournalTip, damage_error, load_last_seq, seal_at, verify_next_event};
use super::readers::ReadError;
use super::table::{event, snapshot};
use crate::snapshot::{JournalTail, deserialize_snapshot};

/// Reads a project and the end of its journal, verifying the seals.
pub(super) fn load_project(
    conn: &Connection,
    at: &Path,
    project: i64,
    name: &str,
) -> Result<(State, JournalTip, JournalTail), ReadError> {
    let (mut state, snapshot_bytes) = load_newest_snapshot(conn, project, name)?;
    let missing = |seq: u64| damage_error(at, format!("event {seq} is missing from the journal"));
    let seal = seal_at(conn, project, name, state.seq())?;
    let mut seal = seal.ok_or_else(|| missing(state.seq().max(1)))?;
    let mut events_bytes = 0;
    event::replay_events(conn, project, state.seq(), |found| {
        seal = verify_next_event(at, seal, state.seq(), found)?;
        state.apply(&found.read_recorded()?);
        events_bytes += found.byte_len();
        Ok::<_, ReadError>(true)
    })?;
    if state.seq() != load_last_seq(conn, project)? {
        return Err(missing(state.seq() + 1).into());
    }
    let tip = JournalTip { seq: state.seq(), seal };
    Ok((state, tip, JournalTail::new(events_bytes, snapshot_bytes)))
}

/// Returns the newest readable snapshot and its size; without one, the initial state.
fn load_newest_snapshot(
    conn: &Connection,
    project: i64,
    name: &str,
) -> rusqlite::Result<(State, u64)> {
    for seq in snapshot::load_positions(conn, project)? {
        let body = snapshot::load_body(conn, project, seq)?;
        if let Some(state) = deserialize_snapshot(&body, name, seq) {
            return Ok((state, body.len() as u64));
        }
    }
    Ok((State::new(name), 0))
}
