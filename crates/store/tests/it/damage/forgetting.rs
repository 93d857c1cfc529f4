//! Whatever is done to its files, a journal does not forget in silence: it is all there, or refused.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use unstuck_core::engine::{BuildId, Event, RecordedEvent, State};
use unstuck_core::fault::Code;
use unstuck_store::{Batch, SqliteStore, Store, StoreError, serialize_snapshot};
use unstuck_testkit::chance::Chance;
use unstuck_testkit::store::{PROJECT, StoreOperation, make_holder, simulate_operations};

use crate::damage::File;

/// What the simulated runner does.
const SEED: u64 = 5;
const STEPS: u64 = 150;
/// How many damages are tried; the environment may ask for more.
const DAMAGES: u64 = 200;
/// How much is damaged at once, at most.
const RUN_BYTES_MAX: u64 = 8 * 1024;
const PAGE: u64 = 4096;
const DATABASE: &str = "unstuck.db";

/// The files of a project as they are at one moment of its life, and what its journal adds up to.
struct Kept {
    files: Vec<(OsString, Vec<u8>)>,
    state: State,
}

impl Kept {
    /// After all of `scenes`, of which so many are in the database itself.
    async fn new(scenes: &[StoreOperation], folded: usize) -> Self {
        let file = File::new();
        let store = SqliteStore::open(&file.path).unwrap();
        let mut claim = store.claim_project(PROJECT, &make_holder("run")).await.unwrap();
        for (number, scene) in scenes.iter().enumerate() {
            let StoreOperation::Write(events) = scene else { continue };
            for recorded in events {
                claim.state.apply(recorded).unwrap();
            }
            let mut batch = Batch::new(&claim.state, events.clone());
            if number % 40 == 39 {
                batch.snapshot = Some(serialize_snapshot(&claim.state));
            }
            claim.journal.append_batch(batch).wait_until_durable().await.unwrap();
            if number + 1 == folded {
                let conn = Connection::open(&file.path).unwrap();
                conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            }
        }
        let found = fs::read_dir(file.path.parent().unwrap()).unwrap();
        let found = found.map(|entry| entry.unwrap().path());
        let files = found.filter(|path| path.extension().is_none_or(|end| end != "lock"));
        let files = files.map(|path| (path.file_name().unwrap().into(), fs::read(path).unwrap()));
        Self { files: files.collect(), state: claim.state }
    }

    fn put(&self, folder: &Path) {
        for (name, bytes) in &self.files {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
}

/// Something that happens to a file, and what it was.
fn damage(chance: &mut Chance, name: &OsString, bytes: &[u8], at: &Path) -> String {
    if bytes.is_empty() {
        fs::write(at, "what has no business here").unwrap();
        return format!("{}: garbage in what was empty", name.display());
    }
    let length = bytes.len() as u64;
    let place = |chance: &mut Chance| usize::try_from(chance.draw_below(length.max(1))).unwrap();
    let start = place(chance);
    let run = usize::try_from(1 + chance.draw_below(RUN_BYTES_MAX)).unwrap();
    let end = (start + run).min(bytes.len());
    let mut damaged = bytes.to_vec();
    let what = match chance.draw_below(8) {
        0 => {
            fs::remove_file(at).unwrap();
            return format!("{} was removed", name.display());
        }
        1 => {
            damaged.truncate(start);
            "cut at"
        }
        2 => {
            damaged[start..end].fill(0);
            "zeroes from"
        }
        3 => {
            for byte in &mut damaged[start..end] {
                *byte = u8::try_from(chance.draw_below(256)).unwrap();
            }
            "garbage from"
        }
        4 => {
            drop(damaged.drain(start..end));
            "a part taken out from"
        }
        5 => {
            let (one, other) = (start / 4096 * 4096, place(chance) / 4096 * 4096);
            let page = usize::try_from(PAGE).unwrap();
            for offset in 0..page.min(damaged.len() - one.max(other)) {
                damaged.swap(one + offset, other + offset);
            }
            "two pages swapped from"
        }
        _ => {
            damaged[start] ^= 1 << chance.draw_below(8);
            "a bit flipped at"
        }
    };
    fs::write(at, damaged).unwrap();
    format!("{}: {what} {start}, until {end} of {length}", name.display())
}

/// That a damaged store tells everything, or is refused.
async fn tells_all_or_refuses(folder: &Path, state: &State, what: &str) -> bool {
    let opened = async {
        let store = SqliteStore::open(folder.join(DATABASE))?;
        let read = store.load_newest_seq(PROJECT).await?;
        assert_eq!(read, state.seq(), "{what}");
        let claim = store.claim_project(PROJECT, &make_holder("run")).await?;
        assert!(claim.state == *state, "{what}: another state");
        Ok::<_, StoreError>(())
    };
    match opened.await {
        Ok(()) => true,
        Err(error) => {
            let refused = [Code::InternalStore, Code::ConfigInvalid];
            assert!(refused.contains(&error.to_fault().code()), "{what}: {error}");
            false
        }
    }
}

// B51: damage anywhere in the database, its log, the log's index or the mark
#[tokio::test]
async fn no_damage_makes_it_forget() {
    let asked = std::env::var_os("UNSTUCK_DAMAGES").and_then(|n| n.to_str()?.parse().ok());
    let damages = asked.unwrap_or(DAMAGES);
    let scenes = simulate_operations(SEED, STEPS).unwrap();
    let mut lives = Vec::new();
    for folded in [0, scenes.len() / 2, scenes.len()] {
        lives.push(Kept::new(&scenes, folded).await);
    }
    let (mut told, mut refused) = (0, 0);
    for number in 0..damages {
        let mut chance = Chance::for_place(SEED, &["damage"], number);
        let kept = &lives[usize::try_from(chance.draw_below(3)).unwrap()];
        let folder = tempfile::tempdir().unwrap();
        kept.put(folder.path());
        let (name, bytes) = &kept.files[usize::try_from(chance.draw_below(4)).unwrap()];
        let what = damage(&mut chance, name, bytes, &folder.path().join(name));
        let what = format!("damage {number}: {what}");
        if tells_all_or_refuses(folder.path(), &kept.state, &what).await {
            told += 1;
        } else {
            refused += 1;
        }
    }
    assert!(told > damages / 10 && refused > damages / 10, "{told} told, {refused} refused");
}

// B51: each file by itself, in each stage of its life
#[tokio::test]
async fn no_missing_file_makes_it_forget() {
    let scenes = simulate_operations(SEED, STEPS).unwrap();
    for folded in [0, scenes.len() / 2, scenes.len()] {
        let kept = Kept::new(&scenes, folded).await;
        for (name, _) in &kept.files {
            let folder = tempfile::tempdir().unwrap();
            kept.put(folder.path());
            fs::remove_file(folder.path().join(name)).unwrap();
            let what = format!("{} is gone after {folded}", name.display());
            let told = tells_all_or_refuses(folder.path(), &kept.state, &what).await;
            // The index of the log is made anew, and a log that was folded in is not missed.
            let may_go = name.to_string_lossy().ends_with("-shm") || folded == scenes.len();
            assert!(!told || may_go, "{what}");
        }
    }
}

/// The files of a folder whose names begin with that of the database: what `rm state.db*` takes.
fn named_after_it(folder: &Path) -> Vec<std::path::PathBuf> {
    let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    found.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(DATABASE)).collect()
}

// B51: all files that are named after the database at once
#[tokio::test]
async fn removing_all_that_is_named_after_it_does_not_make_it_forget() {
    let scenes = simulate_operations(SEED, STEPS).unwrap();
    let kept = Kept::new(&scenes, scenes.len() / 2).await;
    let folder = tempfile::tempdir().unwrap();
    kept.put(folder.path());
    for path in named_after_it(folder.path()) {
        fs::remove_file(path).unwrap();
    }
    assert!(SqliteStore::was_made(&folder.path().join(DATABASE)));
    let error = SqliteStore::open(folder.path().join(DATABASE)).unwrap_err();
    assert!(error.to_string().contains("it is gone, and its journal had come to event"), "{error}");
}

// B51: the mark where earlier versions had it
#[tokio::test]
async fn a_mark_under_its_earlier_name_counts_and_is_moved() {
    let scenes = simulate_operations(SEED, STEPS).unwrap();
    let kept = Kept::new(&scenes, scenes.len()).await;
    let folder = tempfile::tempdir().unwrap();
    kept.put(folder.path());
    let path = folder.path().join(DATABASE);
    let is_mark = |name: &OsString| Path::new(name).extension().is_some_and(|end| end == "mark");
    let (name, _) = kept.files.iter().find(|(name, _)| is_mark(name)).unwrap();
    let digest = name.to_str().unwrap().rsplit('-').next().unwrap();
    let earlier = folder.path().join(format!("{DATABASE}.{digest}"));
    fs::rename(folder.path().join(name), &earlier).unwrap();
    // Without the database it still says that there was one.
    fs::rename(&path, folder.path().join("away")).unwrap();
    SqliteStore::open(&path).unwrap_err();
    fs::rename(folder.path().join("away"), &path).unwrap();
    let what = "a mark under its earlier name";
    assert!(tells_all_or_refuses(folder.path(), &kept.state, what).await);
    assert!(folder.path().join(name).exists() && !earlier.exists());
}

// B51: a journal that says something else is found by walking through it
#[tokio::test]
async fn an_event_that_was_changed_is_found() {
    let scenes = simulate_operations(SEED, STEPS).unwrap();
    let kept = Kept::new(&scenes, 0).await;
    let folder = tempfile::tempdir().unwrap();
    kept.put(folder.path());
    let path = folder.path().join(DATABASE);
    let store = SqliteStore::open(&path).unwrap();
    let verified = store.verify_journal(PROJECT).await.unwrap();
    assert_eq!((verified.events, verified.last), (kept.state.seq(), kept.state.seq()));
    let conn = Connection::open(&path).unwrap();
    conn.execute("UPDATE events SET at = at + 1 WHERE seq = 7", []).unwrap();
    let error = store.verify_journal(PROJECT).await.unwrap_err();
    assert!(
        error.to_string().contains("event 7 of the journal is not what was written"),
        "{error}"
    );
}

#[tokio::test]
async fn an_event_that_does_not_fit_those_before_it_is_found() {
    let scenes = simulate_operations(SEED, STEPS).unwrap();
    let kept = Kept::new(&scenes, 0).await;
    let folder = tempfile::tempdir().unwrap();
    kept.put(folder.path());
    let path = folder.path().join(DATABASE);
    let store = SqliteStore::open(&path).unwrap();
    let by = make_holder("run");
    let mut claim = store.claim_project(PROJECT, &by).await.unwrap();
    let event = Event::BuildCompleted { build: BuildId(u32::MAX) };
    let seq = claim.state.seq() + 1;
    let recorded = RecordedEvent { seq, at: by.since, why: None, event };
    let batch = Batch::new(&claim.state, vec![recorded]);
    claim.journal.append_batch(batch).wait_until_durable().await.unwrap();
    drop(claim);
    let walked = store.verify_journal(PROJECT).await.unwrap_err();
    let claimed = store.claim_project(PROJECT, &by).await.unwrap_err();
    for error in [walked, claimed] {
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("does not fit the events before it"), "{error}");
        assert_eq!(error.to_fault().code(), Code::InternalStore);
    }
}

// B51: what is left is gone on with, and what is known of the actions since is kept
#[tokio::test]
async fn a_loss_that_is_accepted_is_gone_on_with() {
    let scenes = simulate_operations(SEED, STEPS).unwrap();
    for (folded, gone) in [(scenes.len() / 2, "-wal"), (scenes.len() / 2, ""), (0, "-wal")] {
        let kept = Kept::new(&scenes, folded).await;
        let folder = tempfile::tempdir().unwrap();
        kept.put(folder.path());
        let path = folder.path().join(DATABASE);
        fs::remove_file(folder.path().join(format!("{DATABASE}{gone}"))).unwrap();
        let aside = folder.path().join("aside");
        SqliteStore::open(&path).unwrap_err();
        let by = make_holder("store accept-loss");
        let accepted = SqliteStore::accept_loss(path.clone(), PROJECT, &by, &aside).await.unwrap();
        let accepted = accepted.unwrap();
        assert_eq!(accepted.had, Some(kept.state.seq()));
        assert!(accepted.kept < kept.state.seq());
        assert!(!accepted.actions.is_empty(), "{accepted:?}");
        let store = SqliteStore::open(&path).unwrap();
        let claim = store.claim_project(PROJECT, &by).await.unwrap();
        assert_eq!(claim.state.seq(), accepted.kept + 1);
        assert!(accepted.actions.iter().all(|action| claim.state.is_doubted(&action.key)));
        assert!(aside.join(DATABASE).exists() || gone.is_empty());
        drop((claim, store));
        // Once is enough.
        let again = SqliteStore::accept_loss(path, PROJECT, &by, &aside).await.unwrap();
        assert_eq!(again, None);
    }
}
