//! The night of the demo, killed wherever it can be: it ends as if it had not been.
//!
//! A night works on a real repository, so that killing it everywhere takes long: every twenty-ninth
//! place is tried, and all of them where `UNSTUCK_KILL_EVERY` is 1.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use unstuck_store::tables::QuestionStatus;
use unstuck_store::{SqliteStore, Store};

const SIGKILL: i32 = 9;
/// Nights that are played at the same time.
const AT_ONCE: usize = 4;
/// The distance of the places, unless `UNSTUCK_KILL_EVERY` asks for another.
const EVERY: u64 = 29;

/// Plays a night in a folder, from wherever it was cut short there.
fn play(folder: &Path, crash_at: Option<u64>) -> ExitStatus {
    let mut night = Command::new(env!("CARGO_BIN_EXE_unstuck"));
    night.args(["demo", "--auto", "--gently", "--night"]).arg(folder);
    if let Some(nth) = crash_at {
        night.args(["--crash-at", &nth.to_string()]);
    }
    night.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).status().unwrap()
}

/// The result of a night: everything but ids, times and chains of runs.
#[derive(Debug, PartialEq)]
struct Morning {
    tasks: BTreeMap<String, String>,
    questions: Vec<(String, QuestionStatus)>,
    /// Tries that still count.
    tries: BTreeMap<String, u32>,
    /// The actions that were done, in the order of their names: each at most once.
    applied: Vec<String>,
}

fn morning(folder: &Path) -> Morning {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(folder.join("state.db")).unwrap();
        let (mut tasks, project) = (BTreeMap::new(), "demo-7");
        for build in store.load_builds(project).await.unwrap() {
            for task in store.load_build_tasks(project, build.id).await.unwrap() {
                let standing = task.moved.state.kind().as_str().to_owned();
                tasks.insert(task.spec.name.clone(), standing);
            }
        }
        let questions = store.load_questions(project, None).await.unwrap();
        let tries = store.load_signatures(project).await.unwrap();
        Morning {
            tasks,
            questions: questions.into_iter().map(|q| (q.signature, q.status)).collect(),
            tries: tries
                .into_iter()
                .filter(|error| error.count > 0)
                .map(|error| (error.signature.key(project), error.count))
                .collect(),
            applied: applied(&folder.join("shop")),
        }
    })
}

/// Commits that were merged, branches that were pushed, and what went online.
fn applied(shop: &Path) -> Vec<String> {
    let git = Command::new("git")
        .current_dir(shop.join("repository"))
        .args(["log", "--format=merged %s", "main..unstuck/b0"])
        .output()
        .unwrap();
    let merged = String::from_utf8(git.stdout).unwrap();
    let read = |path: &str| std::fs::read_to_string(shop.join(path)).unwrap();
    let lines = [merged, read("remote.git/pushed"), read("hosting/online")].concat();
    let mut applied: Vec<String> = lines.lines().map(str::to_owned).collect();
    applied.sort();
    applied
}

#[expect(clippy::disallowed_methods, reason = "a caller of the tests may ask for more of them")]
fn every() -> u64 {
    let asked = std::env::var("UNSTUCK_KILL_EVERY").ok();
    asked.map_or(EVERY, |every| every.parse().unwrap())
}

// B4, TX6, TX8: the journal and effect boundaries of the night, one after the other.
#[test]
fn killed_anywhere_the_night_ends_as_if_it_had_not_been() {
    let undisturbed = tempfile::tempdir().unwrap();
    assert!(play(undisturbed.path(), None).success());
    let expected = morning(undisturbed.path());
    assert!(expected.tasks.values().all(|state| state == "done"), "{expected:?}");
    assert_eq!(expected.applied.len(), 8);
    let (next, over, every) = (AtomicU64::new(1), AtomicBool::new(false), every());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    let nth = next.fetch_add(every, Ordering::SeqCst);
                    let folder = tempfile::tempdir().unwrap();
                    let status = play(folder.path(), Some(nth));
                    if status.signal() != Some(SIGKILL) {
                        assert!(status.success(), "point {nth}: {status}");
                        over.store(true, Ordering::SeqCst);
                        return;
                    }
                    assert!(play(folder.path(), None).success(), "after point {nth}");
                    assert_eq!(morning(folder.path()), expected, "killed at point {nth}");
                }
            });
        }
    });
    let points = next.load(Ordering::SeqCst);
    assert!(points > 100, "the night has only {points} points to be killed at");
}

// B4: once is not enough for a machine that keeps failing.
#[test]
fn killed_again_and_again_it_still_gets_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut killed = 0;
    while play(folder.path(), Some(61)).signal() == Some(SIGKILL) {
        killed += 1;
        assert!(killed < 40, "it gets nowhere");
    }
    assert!(killed > 3, "it was killed only {killed} times");
    let morning = morning(folder.path());
    assert_eq!(morning.applied.len(), 8, "{morning:?}");
}
