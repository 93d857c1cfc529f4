//! Stores that released versions wrote are opened by this one.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use unstuck_core::engine::State;
use unstuck_store::{SqliteStore, Store};
use unstuck_testkit::store::{
    PROJECT, StoreDump, make_holder, play_operations, simulate_operations,
};

use crate::damage::{At, File};

/// One file per schema that was ever released.
const SCHEMAS: [&str; 3] = ["v1.db", "v2.db", "v3.db"];
/// What the simulated runner did to it.
const SEED: u64 = 9;
const STEPS: u64 = 250;

#[tokio::test]
async fn every_schema_is_opened() {
    for schema in SCHEMAS {
        opens(schema).await;
    }
}

async fn opens(schema: &str) {
    let file = File::new();
    copy_with_marks(&fixture(schema), &file.path);
    let store = SqliteStore::open(&file.path).unwrap();
    let claim = store.claim_project(PROJECT, &make_holder("run")).await.unwrap();
    let dump = StoreDump::read_project(&store, PROJECT).await.unwrap();
    dump.check_against(&claim.state).unwrap();
    let mut replayed = State::new(PROJECT);
    for recorded in &dump.events {
        replayed.apply(recorded).unwrap();
    }
    assert_eq!(standing(&replayed), standing(&claim.state));
    let counts = [dump.events.len(), dump.tasks.len(), dump.runs.len(), dump.questions.len()];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// What must not change however old the snapshot is. Counters may: a later version counts in its own
/// way from the next event on.
fn standing(state: &State) -> String {
    let tasks: Vec<_> = state.tasks().map(|task| (task.id, &task.state, task.next)).collect();
    let runs: Vec<_> = state.runs().map(|run| (run.id, run.phase, run.status, run.owes)).collect();
    let questions: Vec<_> = state.questions().collect();
    let actions: Vec<_> = state.mutations().collect();
    let builds: Vec<_> = state.builds().map(|build| (build.id, build.state, build.spent)).collect();
    let more = (state.seq(), state.next_wake(), state.outstanding_effects());
    format!("{more:#?} {builds:#?} {tasks:#?} {runs:#?} {questions:#?} {actions:#?}")
}

#[tokio::test]
#[ignore = "writes the fixture of the current schema; run once when a schema is released"]
async fn write_the_fixture() {
    let file = File::new();
    play_operations(&At(&file.path), &simulate_operations(SEED, STEPS).unwrap(), SEED)
        .await
        .unwrap();
    let conn = Connection::open(&file.path).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    copy_with_marks(&file.path, &fixture(SCHEMAS.last().unwrap()));
}

/// Copies a database with the marks beside it, whose names hold that of the database.
fn copy_with_marks(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
    let named = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let (name, new) = (named(from), named(to));
    for entry in fs::read_dir(from.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let found = named(&path);
        for (name, new) in
            [(name.clone(), new.clone()), (name.replace('.', "-"), new.replace('.', "-"))]
        {
            if found.contains(&name) && path.extension().is_some_and(|end| end == "mark") {
                fs::copy(&path, to.with_file_name(found.replace(&name, &new))).unwrap();
            }
        }
    }
}

fn fixture(schema: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/store").join(schema)
}
