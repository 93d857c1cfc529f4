//! Deletion of old data that is not needed to open the project.

use rusqlite::{Connection, params};
use unstuck_core::time::Time;

use super::table::{event, snapshot};
use super::value::to_sql_time;

/// Maximum number of events deleted per transaction, so that batches wait for one such step at most.
const STEP_EVENTS: u32 = 2_000;

/// Deletes some of the oldest events from before `before`, and returns their number. Events that the older of
/// two snapshots needs stay, and while there is only one snapshot, all events stay.
pub(super) fn prune_events(conn: &Connection, project: i64, before: Time) -> rusqlite::Result<u64> {
    let kept = snapshot::load_positions(conn, project)?;
    let Some(&needed) = kept.get(usize::from(snapshot::KEPT) - 1) else { return Ok(0) };
    event::drop_oldest(conn, project, needed, before, STEP_EVENTS)
}

/// Returns whether a step deleted so many events that more may be left.
pub(super) const fn may_have_left(dropped: u64) -> bool {
    dropped >= STEP_EVENTS as u64
}

/// Deletes builds that ended before `before`, with everything that belongs to them. The latest build stays:
/// it can be revived until another one starts.
pub(super) fn prune_builds(conn: &Connection, project: i64, before: Time) -> rusqlite::Result<()> {
    conn.execute(
        "DELETE FROM builds WHERE project = ?1 AND ended_at < ?2 AND standing = 0
         AND id < (SELECT max(id) FROM builds WHERE project = ?1 AND standing = 0)",
        params![project, to_sql_time(before)],
    )?;
    for orphans in [
        "DELETE FROM tasks WHERE project = ?1
         AND build NOT IN (SELECT id FROM builds WHERE project = ?1)",
        "DELETE FROM runs WHERE project = ?1
         AND task NOT IN (SELECT id FROM tasks WHERE project = ?1)",
        "DELETE FROM mutations WHERE project = ?1
         AND task NOT IN (SELECT id FROM tasks WHERE project = ?1)",
        "DELETE FROM questions WHERE project = ?1 AND build IS NOT NULL
         AND build NOT IN (SELECT id FROM builds WHERE project = ?1)",
        "DELETE FROM answers WHERE project = ?1
         AND question NOT IN (SELECT id FROM questions WHERE project = ?1)",
    ] {
        conn.execute(orphans, [project])?;
    }
    Ok(())
}
