//! Files that are not as they should be: each is refused with what was found, and left as it was.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;
use unstuck_core::fault::{Code, Origin};
use unstuck_store::{SqliteStore, Store, StoreError, serialize_snapshot};
use unstuck_testkit::store::{PROJECT, StoreFixture, make_holder, make_task};

use crate::damage::{At, File, next};

const PAGE: usize = 4096;
/// The first byte of a page at the end of a tree whose rows are ordered by their key.
const LEAF: u8 = 0x0a;

/// A database with a build and many events, left without a proper end, and all of it in the file.
async fn written(file: &File) {
    let mut stage = StoreFixture::new(&At(&file.path)).await.unwrap();
    stage.start_build(vec![make_task("a")]).await.unwrap();
    let mut receipts = Vec::new();
    for number in 0..400 {
        let mut batch = next(&mut stage);
        if number == 395 {
            batch.snapshot = Some(serialize_snapshot(&stage.state));
        }
        receipts.push(stage.journal.append_batch(batch));
    }
    for receipt in receipts {
        receipt.wait_until_durable().await.unwrap();
    }
    drop(stage);
    let conn = Connection::open(&file.path).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).ok();
    let error = SqliteStore::open(path).unwrap_err();
    assert!(fs::read(path).ok() == before, "a refused file was changed");
    error
}

fn assert_damaged(error: &StoreError, what: &str) {
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(what), "{error}");
    let fault = error.to_fault();
    assert_eq!((fault.code(), fault.source.as_str()), (Code::InternalStore, "store"));
    assert_eq!(fault.origin, Origin::Host);
    assert!(!error.hint().is_empty());
}

#[tokio::test]
async fn no_other_user_may_read_what_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/here/unstuck.db");
    let stage = StoreFixture::new(&At(&path)).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let files: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(files.len(), 5, "database, log, its index, lock, mark");
    for file in files {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(stage);
    // One that was left open to others is closed to them.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn a_cut_file_is_refused() {
    let file = File::new();
    written(&file).await;
    let whole = fs::read(&file.path).unwrap();
    fs::write(&file.path, &whole[..whole.len() / 2 / PAGE * PAGE]).unwrap();
    assert_damaged(&refused(&file.path), "malformed");
    fs::write(&file.path, &whole[..50]).unwrap();
    assert_damaged(&refused(&file.path), "cut short");
}

#[tokio::test]
async fn what_is_no_database_or_not_ours_is_refused() {
    let file = File::new();
    fs::write(&file.path, "dear diary,\n".repeat(1000)).unwrap();
    assert_damaged(&refused(&file.path), "not a SQLite database");

    for sql in
        ["CREATE TABLE recipes (name);", "CREATE TABLE recipes (name); PRAGMA application_id = 77;"]
    {
        let file = File::new();
        Connection::open(&file.path).unwrap().execute_batch(sql).unwrap();
        assert_damaged(&refused(&file.path), "another program");
    }
}

#[tokio::test]
async fn a_foreign_log_is_refused() {
    let file = File::new();
    written(&file).await;
    let log = file.path.with_file_name("unstuck.db-wal");
    fs::write(&log, b"another program's log, not ours at all").unwrap();
    assert_damaged(&refused(&file.path), "log");
}

// A newer version's store is not touched: the fault says what to do.
#[tokio::test]
async fn a_newer_schema_is_refused() {
    let file = File::new();
    written(&file).await;
    Connection::open(&file.path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = refused(&file.path);
    assert!(matches!(error, StoreError::Newer { found: 99, known: 3, .. }), "{error}");
    assert_eq!(error.to_fault().code(), Code::ConfigInvalid);
    let files = fs::read_dir(file.path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 3, "database, lock and mark: nothing was put beside them");
}

#[tokio::test]
async fn a_place_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    // The user of the tests may write everywhere; no user may write below a file or into /proc.
    for (path, at) in [
        (plain.join("below/unstuck.db"), plain.join("below")),
        (taken.clone(), taken),
        ("/proc/unstuck/unstuck.db".into(), "/proc/unstuck".into()),
    ] {
        let error = SqliteStore::open(&path).unwrap_err();
        assert!(matches!(&error, StoreError::Rights { at: named, .. } if *named == at), "{error}");
        assert_eq!(error.to_fault().code(), Code::ConfigInvalid);
        assert!(error.to_string().contains(&at.display().to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_destroyed_page_is_found_in_the_background_and_nothing_is_written_on_top() {
    let file = File::new();
    written(&file).await;
    let whole = fs::read(&file.path).unwrap();
    let pages = whole.chunks(PAGE).enumerate().skip(1);
    let holding = pages.filter(|(_, page)| {
        page[0] == LEAF && page.windows(18).any(|bytes| bytes == b"agent.build_paused")
    });
    let (number, _) = holding.min_by_key(|(number, _)| *number).unwrap();
    let mut opened = fs::OpenOptions::new().write(true).open(&file.path).unwrap();
    opened.seek(SeekFrom::Start((number * PAGE) as u64)).unwrap();
    opened.write_all(&[0; PAGE]).unwrap();
    drop(opened);

    let store = SqliteStore::open(&file.path).unwrap();
    let mut claim = store.claim_project(PROJECT, &make_holder("run")).await.unwrap();
    assert!(!claim.clean);
    let found = loop {
        match store.background_check_result() {
            Some(found) => break found,
            None => tokio::task::yield_now().await,
        }
    };
    assert!(matches!(found, Err(StoreError::Damaged { .. })), "{found:?}");
    let batch = unstuck_store::Batch::default();
    let error = claim.journal.append_batch(batch).wait_until_durable().await.unwrap_err();
    assert_damaged(&error, "damaged");
}

/// A snapshot that still can be read, and holds a state that the engine did not decide.
#[tokio::test]
async fn a_snapshot_with_a_flipped_bit_is_passed_over() {
    let file = File::new();
    written(&file).await;
    let conn = Connection::open(&file.path).unwrap();
    let body: Vec<u8> = conn.query_row("SELECT body FROM snapshots", [], |row| row.get(0)).unwrap();
    let title = br#""title":"Task a"#;
    let at = body.windows(title.len()).position(|part| part == title).unwrap() + title.len() - 1;
    let mut flipped = body;
    flipped[at] ^= 2;
    conn.execute("UPDATE snapshots SET body = ?1", [flipped]).unwrap();
    drop(conn);
    let store = SqliteStore::open(&file.path).unwrap();
    let claim = store.claim_project(PROJECT, &make_holder("run")).await.unwrap();
    let titles: Vec<&str> = claim.state.tasks().map(|task| &*task.spec.title).collect();
    assert_eq!(titles, ["Task a"]);
}

#[tokio::test]
async fn a_holder_that_was_replaced_writes_nothing_more() {
    let file = File::new();
    let mut stage = StoreFixture::new(&At(&file.path)).await.unwrap();
    stage.start_build(vec![make_task("a")]).await.unwrap();
    let durable = stage.state.seq();
    // Another process took the project over without the lock, as on a disk that keeps none.
    let other = Connection::open(&file.path).unwrap();
    other.execute("UPDATE projects SET epoch = epoch + 1", []).unwrap();
    let batch = next(&mut stage);
    let error = stage.journal.append_batch(batch).wait_until_durable().await.unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    assert_eq!(error.to_fault().code(), Code::InternalStore);
    let last: i64 = other.query_row("SELECT max(seq) FROM events", [], |row| row.get(0)).unwrap();
    assert_eq!(last, durable.cast_signed());
    let error = stage.journal.close(&stage.state).await.unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
}
