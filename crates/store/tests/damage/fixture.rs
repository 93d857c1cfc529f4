//! Stores that released versions wrote are opened by this one.

use std::fs;

use rusqlite::Connection;
use unstuck_core::engine::State;
use unstuck_store::{SqliteStore, Store};
use unstuck_testkit::store::{Dump, PROJECT, holder, scenes, told};

use crate::{At, File};

const SCHEMA_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/store/v1.db");
/// What the simulated runner did to it.
const SEED: u64 = 5;
const STEPS: u64 = 150;

#[tokio::test]
async fn schema_1_is_opened() {
    let file = File::new();
    fs::copy(SCHEMA_1, &file.path).unwrap();
    let store = SqliteStore::open(&file.path).unwrap();
    let claim = store.claim(PROJECT, &holder("run")).await.unwrap();
    let dump = Dump::of(&store, PROJECT).await.unwrap();
    dump.agrees(&claim.state).unwrap();
    let mut replayed = State::new(PROJECT);
    for recorded in &dump.events {
        replayed.apply(recorded);
    }
    assert_eq!(replayed, claim.state);
    let counts = [dump.events.len(), dump.tasks.len(), dump.runs.len(), dump.questions.len()];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

#[tokio::test]
#[ignore = "writes the fixture of the current schema; run once when a schema is released"]
async fn write_the_fixture() {
    let file = File::new();
    told(&At(&file.path), &scenes(SEED, STEPS).unwrap(), SEED).await.unwrap();
    let conn = Connection::open(&file.path).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    fs::copy(&file.path, SCHEMA_1).unwrap();
}
