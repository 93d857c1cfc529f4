//! Every backend does what a store has to do, and all keep the same rows.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use unstuck_store::{MemoryStore, SqliteStore, Store};
use unstuck_testkit::store::{StoreOpener, play_operations, simulate_operations, suite};

/// Another process finds what is durable, and nothing else.
struct InMemory(Mutex<MemoryStore>);

struct InFile {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl StoreOpener for InMemory {
    fn open(&self) -> Arc<dyn Store> {
        let mut store = self.0.lock().unwrap();
        *store = store.clone_after_crash();
        Arc::new(store.clone())
    }
}

impl StoreOpener for InFile {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&self.path).unwrap())
    }
}

fn memory() -> InMemory {
    InMemory(Mutex::new(MemoryStore::new()))
}

fn sqlite() -> InFile {
    let folder = tempfile::tempdir().unwrap();
    InFile { path: folder.path().join("unstuck.db"), _folder: folder }
}

macro_rules! conformance {
    ($($(#[$proves:meta])* $name:ident)+) => {
        mod in_memory {
            $($(#[$proves])* #[tokio::test(flavor = "multi_thread")]
            async fn $name() { super::suite::$name(&super::memory()).await.unwrap(); })+
        }
        mod in_sqlite {
            $($(#[$proves])* #[tokio::test(flavor = "multi_thread")]
            async fn $name() { super::suite::$name(&super::sqlite()).await.unwrap(); })+
        }
    };
}

conformance! {
    state_survives_deaths_and_ends
    a_held_project_is_refused_by_name
    a_failed_batch_leaves_nothing_behind
    a_journal_is_read_in_pages
    followers_are_told
    two_projects_do_not_meet
    broken_snapshots_are_passed_over
    // T1.11: a question and its answer go through the store and come back as they were.
    questions_come_back_as_they_were_asked
    // TX4: of two answers one wins; a wrong one is refused.
    wrong_answers_are_refused
    one_of_many_answers_wins
    answers_are_taken_once
    // T0.19, T1.2: what is saved after a failure holds the counts, in the same transaction.
    counters_are_saved_with_their_failure
    // T3.17: a run keeps code, type, category, source, message and time of what it met.
    runs_are_remembered
    the_reasons_of_a_run_are_found
    what_was_checked_is_remembered
    actions_are_remembered
    costs_add_up
    a_session_and_its_requests_are_remembered
    what_is_old_goes
    the_latest_conversation_survives
    a_conversation_that_is_over_is_not_kept
    a_conversation_that_ends_with_its_progress_is_not_kept
    a_conversation_is_written_with_its_progress_or_not_at_all
    an_old_conversation_stays_while_its_task_lives
    a_new_channel_hears_what_is_new
    how_far_a_channel_came_survives
    a_channel_never_goes_back
}

/// Whatever the simulated runner does, and wherever it dies, a store finds what was durable; and two
/// stores that were told the same story hold the same rows.
#[tokio::test(flavor = "multi_thread")]
async fn all_backends_keep_the_same_rows() {
    for seed in 0..12 {
        let scenes = simulate_operations(seed, 120).unwrap();
        let (memory, sqlite) = (memory(), sqlite());
        let remembered = play_operations(&memory, &scenes, seed).await;
        let remembered = remembered.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let written = play_operations(&sqlite, &scenes, seed).await;
        let written = written.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(remembered, written, "seed {seed}");
    }
}
