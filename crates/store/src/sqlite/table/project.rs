//! Projects: who may write, and whether the last one let go properly.

use rusqlite::{Connection, OptionalExtension};

/// A project that was taken.
pub(crate) struct Taken {
    /// Its new epoch.
    pub(crate) epoch: i64,
    /// The last one let go of it properly.
    pub(crate) clean: bool,
}

/// The id of a project, if it is known.
pub(crate) fn find(conn: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    let mut find = conn.prepare_cached("SELECT id FROM projects WHERE name = ?1")?;
    find.query_row([name], |row| row.get(0)).optional()
}

/// The id of a project; one that is not known is made.
pub(crate) fn make(conn: &Connection, name: &str) -> rusqlite::Result<i64> {
    conn.execute("INSERT INTO projects (name) VALUES (?1) ON CONFLICT DO NOTHING", [name])?;
    conn.query_row("SELECT id FROM projects WHERE name = ?1", [name], |row| row.get(0))
}

/// Takes the project: from now on nobody else writes.
pub(crate) fn take(conn: &Connection, project: i64) -> rusqlite::Result<Taken> {
    let found = |row: &rusqlite::Row<'_>| Ok(Taken { epoch: row.get(0)?, clean: row.get(1)? });
    let last =
        conn.query_row("SELECT epoch, clean FROM projects WHERE id = ?1", [project], found)?;
    let taken = Taken { epoch: last.epoch + 1, ..last };
    conn.execute(
        "UPDATE projects SET epoch = ?2, clean = 0 WHERE id = ?1",
        [project, taken.epoch],
    )?;
    Ok(taken)
}

/// The epoch of the project.
pub(crate) fn epoch(conn: &Connection, project: i64) -> rusqlite::Result<i64> {
    let mut find = conn.prepare_cached("SELECT epoch FROM projects WHERE id = ?1")?;
    find.query_row([project], |row| row.get(0))
}

/// Remembers that the project was let go of properly.
pub(crate) fn let_go(conn: &Connection, project: i64) -> rusqlite::Result<()> {
    conn.execute("UPDATE projects SET clean = 1 WHERE id = ?1", [project])?;
    Ok(())
}
