//! Migration from any released schema to the newest, in one transaction, after a backup.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use super::fail::{self, FailedOperation};
use super::files::{self, APPLICATION};
use crate::error::StoreError;

#[derive(Clone, Copy, Debug)]
pub(super) struct MigrationStep {
    /// The schema it leads to.
    pub(super) to: u32,
    pub(super) sql: &'static str,
}

/// All steps, in order. A released step never changes.
pub(super) const STEPS: &[MigrationStep] = &[
    MigrationStep { to: 1, sql: include_str!("sql/v1.sql") },
    MigrationStep { to: 2, sql: include_str!("sql/v2.sql") },
    MigrationStep { to: 3, sql: include_str!("sql/v3.sql") },
];

/// Returns the schema that the last step leads to.
pub(super) fn newest_schema(steps: &[MigrationStep]) -> u32 {
    steps.last().map_or(0, |step| step.to)
}

/// Migrates the database to the newest schema.
pub(super) fn migrate_database(
    conn: &mut Connection,
    at: &Path,
    steps: &[MigrationStep],
) -> Result<(), StoreError> {
    let failed =
        |error: rusqlite::Error| fail::convert_sqlite_error(at, FailedOperation::Writing, &error);
    // In one transaction: another process may be creating it at this moment.
    let reading = conn.transaction().map_err(failed)?;
    let found = read_schema(&reading, at, newest_schema(steps))?;
    drop(reading);
    if found == newest_schema(steps) {
        return Ok(());
    }
    if found > 0 {
        back_up_database(conn, at, found)?;
    }
    let transaction =
        conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have migrated it first.
    let found = read_schema(&transaction, at, newest_schema(steps))?;
    for step in steps.iter().filter(|step| step.to > found) {
        transaction.execute_batch(step.sql).map_err(failed)?;
        transaction.pragma_update(None, "user_version", step.to).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    if found > 0 {
        // So that an older version sees in the file itself that it is too old.
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed)?;
    }
    Ok(())
}

/// Returns the schema of the database: 0 for a new one.
fn read_schema(conn: &Connection, at: &Path, known: u32) -> Result<u32, StoreError> {
    let failed =
        |error: rusqlite::Error| fail::convert_sqlite_error(at, FailedOperation::Reading, &error);
    let number = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    let (application, found) =
        (number("application_id").map_err(failed)?, number("user_version").map_err(failed)?);
    let count = "SELECT count(*) FROM sqlite_schema";
    let things: u32 = conn.query_row(count, [], |row| row.get(0)).map_err(failed)?;
    let at = at.display().to_string();
    let damaged = |what: &str| Err(StoreError::Damaged { at: at.clone(), what: what.to_owned() });
    match (application, found) {
        (0, 0) if things == 0 => Ok(0),
        (APPLICATION, found) if found > known => Err(StoreError::Newer { at, found, known }),
        (APPLICATION, 1..) if things > 0 => Ok(found),
        (APPLICATION, _) => damaged("its tables are gone"),
        _ => damaged("it belongs to another program"),
    }
}

/// Backs up the database before a migration: `<db>.v<N>.bak`.
fn back_up_database(conn: &Connection, at: &Path, schema: u32) -> Result<(), StoreError> {
    let backup = backup_path(at, schema);
    let failed = |error: &std::io::Error| fail::convert_io_error(&backup, "written", error);
    let file = files::open_private_file(&backup).map_err(|error| failed(&error))?;
    file.set_len(0).map_err(|error| failed(&error))?;
    conn.execute("VACUUM INTO ?1", [backup.to_string_lossy()])
        .map_err(|error| fail::convert_sqlite_error(&backup, FailedOperation::Writing, &error))?;
    file.sync_all().map_err(|error| failed(&error))
}

fn backup_path(at: &Path, schema: u32) -> PathBuf {
    let mut path = at.as_os_str().to_owned();
    path.push(format!(".v{schema}.bak"));
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::sqlite::SqliteStore;
    use crate::sqlite::open::MarkPolicy;

    const NEWEST: u32 = 3;
    const FIXTURE: &[u8] = include_bytes!("../../../../testdata/store/v1.db");
    const NEXT: MigrationStep =
        MigrationStep { to: NEWEST + 1, sql: "ALTER TABLE projects ADD COLUMN note TEXT;" };
    const BROKEN: MigrationStep = MigrationStep {
        to: NEWEST + 2,
        sql: "ALTER TABLE projects ADD COLUMN more TEXT; SELECT nonsense;",
    };

    /// Creates a database of schema 1 in a folder of its own.
    fn old() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unstuck.db");
        fs::write(&path, FIXTURE).unwrap();
        (folder, path)
    }

    /// Returns all steps followed by these.
    fn and(more: &[MigrationStep]) -> Vec<MigrationStep> {
        [STEPS, more].concat()
    }

    fn version(path: &Path) -> (u32, u32) {
        let conn = Connection::open(path).unwrap();
        let version = conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        let events = conn.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
        (version, events)
    }

    #[test]
    fn an_old_schema_is_kept_aside_and_brought_forward() {
        let (_folder, path) = old();
        let (_, events) = version(&path);
        drop(SqliteStore::open_with(path.clone(), &and(&[NEXT]), MarkPolicy::Count).unwrap());
        assert_eq!(version(&path), (NEWEST + 1, events));
        let kept = backup_path(&path, 1);
        assert_eq!(version(&kept), (1, events));
        assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        // The older program sees in the file itself that it is too old.
        let error = SqliteStore::open_with(path, STEPS, MarkPolicy::Count).unwrap_err();
        let wanted = (NEWEST + 1, NEWEST);
        assert!(
            matches!(error, StoreError::Newer { found, known, .. } if (found, known) == wanted),
            "{error}"
        );
    }

    #[test]
    fn a_step_that_fails_takes_all_of_them_back() {
        let (_folder, path) = old();
        let before = version(&path);
        SqliteStore::open_with(path.clone(), &and(&[NEXT, BROKEN]), MarkPolicy::Count).unwrap_err();
        assert_eq!(version(&path), before);
        let conn = Connection::open(&path).unwrap();
        conn.prepare("SELECT note FROM projects").unwrap_err();
        drop(conn);
        drop(SqliteStore::open_with(path, STEPS, MarkPolicy::Count).unwrap());
    }

    #[test]
    fn the_newest_schema_is_left_alone() {
        let (_folder, path) = old();
        drop(SqliteStore::open_with(path.clone(), STEPS, MarkPolicy::Count).unwrap());
        fs::remove_file(backup_path(&path, 1)).unwrap();
        drop(SqliteStore::open_with(path.clone(), STEPS, MarkPolicy::Count).unwrap());
        assert_eq!(version(&path).0, NEWEST);
        assert!((1..=NEWEST).all(|schema| !backup_path(&path, schema).exists()));
    }
}
