//! Several processes on one file, and processes that die.
//!
//! The other process is this program again, told to run one test that is left out otherwise. It gets
//! the path on its standard input.

use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use unstuck_core::engine::{State, TaskId};
use unstuck_store::{
    Checkpoint, EventPage, Holder, SqliteStore, Store, StoreError, StoredConversation,
};
use unstuck_testkit::store::{PROJECT, StoreFixture, StoreOpener, make_holder, make_task};

use crate::damage::{At, File, next};

/// This program again, at one of the tests below.
struct Other {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(mut command: Command, part: &str, path: &Path) -> Self {
        let part = format!("damage::processes::{part}");
        command.args(["--exact", &part, "--ignored", "--nocapture", "--test-threads=1"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{}", path.display()).unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said }
    }

    fn new(part: &str, path: &Path) -> Self {
        Self::start(Command::new(std::env::current_exe().unwrap()), part, path)
    }

    /// The rest of its next line that begins with `word`.
    fn says(&mut self, word: &str) -> Option<String> {
        let mut said = self.said.by_ref().map(Result::unwrap);
        said.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()))
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn path_from_input() -> PathBuf {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap();
    PathBuf::from(line.trim())
}

fn say(word: &str, what: impl std::fmt::Display) {
    // The test's own capture is off; a line is one write.
    let mut out = io::stdout().lock();
    out.write_all(format!("\n{word} {what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

#[tokio::test]
#[ignore = "another process of the tests below"]
async fn writes_until_it_is_killed() {
    let path = path_from_input();
    let mut stage = StoreFixture::new(&At(&path)).await.unwrap();
    stage.start_build(vec![make_task("a")]).await.unwrap();
    let mut waiting = std::collections::VecDeque::new();
    loop {
        let mut batch = next(&mut stage);
        let last = batch.events.last().unwrap().seq;
        let conversation = StoredConversation::new(last.to_string()).unwrap();
        batch.checkpoint = Some(Checkpoint { task: TaskId(0), conversation });
        waiting.push_back((last, stage.journal.append_batch(batch)));
        if waiting.len() > 8 {
            let (last, receipt) = waiting.pop_front().unwrap();
            receipt.wait_until_durable().await.unwrap();
            say("durable", last);
        }
    }
}

#[tokio::test]
#[ignore = "another process of the tests below"]
async fn holds_a_project() {
    let path = path_from_input();
    let store = SqliteStore::open(path).unwrap();
    let holder = Holder { pid: std::process::id(), ..make_holder("serve") };
    let _claim = store.claim_project(PROJECT, &holder).await.unwrap();
    say("held", holder.pid);
    io::stdin().read_line(&mut String::new()).unwrap();
}

#[tokio::test]
#[ignore = "another process of the tests below"]
async fn fills_a_small_disk() {
    let path = path_from_input();
    let ballast = path.with_file_name("ballast");
    std::fs::write(&ballast, vec![0; 256 * 1024]).unwrap();
    let mut stage = StoreFixture::new(&At(&path)).await.unwrap();
    stage.start_build(vec![make_task("a")]).await.unwrap();
    let (error, durable) = loop {
        let durable = stage.state.clone();
        let batch = next(&mut stage);
        if let Err(error) = stage.journal.append_batch(batch).wait_until_durable().await {
            break (error, durable);
        }
    };
    say("failed", &error);
    let batch = next(&mut stage);
    assert_eq!(stage.journal.append_batch(batch).wait_until_durable().await, Err(error));
    // Room again: the project is taken again and goes on where it was durable.
    std::fs::remove_file(ballast).unwrap();
    let spare = stage.store.claim_project("spare", &make_holder("run")).await.unwrap();
    drop(std::mem::replace(&mut stage.journal, spare.journal));
    let claim = stage.store.claim_project(PROJECT, &make_holder("run")).await.unwrap();
    assert_eq!(claim.state, durable);
    (stage.state, stage.journal) = (claim.state, claim.journal);
    let batch = next(&mut stage);
    stage.journal.append_batch(batch).wait_until_durable().await.unwrap();
    say("went on", stage.state.seq());
}

/// Reads the journal from its first event and checks that nothing is missing.
async fn replayed(store: &dyn Store) -> State {
    let mut state = State::new(PROJECT);
    for recorded in
        store.load_events(PROJECT, EventPage { after: 0, limit: u32::MAX }).await.unwrap()
    {
        assert_eq!(recorded.seq, state.seq() + 1);
        state.apply(&recorded).unwrap();
    }
    state
}

// A kill in the middle of writing loses nothing that was acknowledged, and a conversation is as far
// as the journal is.
#[tokio::test]
async fn a_killed_writer_leaves_all_it_was_told_is_durable() {
    for after in [1, 7, 40, 150] {
        let file = File::new();
        let mut other = Other::new("writes_until_it_is_killed", &file.path);
        let mut durable = 0;
        for _ in 0..after {
            durable = other.says("durable").unwrap().parse::<u64>().unwrap();
        }
        other.kill();
        let store = At(&file.path).open();
        let claim = store.claim_project(PROJECT, &make_holder("run")).await.unwrap();
        assert!(!claim.clean);
        assert!(claim.state.seq() >= durable, "{} {durable}", claim.state.seq());
        assert_eq!(replayed(&*store).await, claim.state);
        let said = store.load_checkpoint(PROJECT, TaskId(0)).await.unwrap().unwrap();
        assert_eq!(said.as_str(), claim.state.seq().to_string());
    }
}

#[tokio::test]
async fn a_second_process_is_refused_by_name_until_the_first_is_gone() {
    let file = File::new();
    let mut other = Other::new("holds_a_project", &file.path);
    let pid = other.says("held").unwrap().parse::<u32>().unwrap();
    let store = SqliteStore::open(&file.path).unwrap();
    let error = store.claim_project(PROJECT, &make_holder("run")).await.unwrap_err();
    let StoreError::Held(named) = &error else { panic!("{error}") };
    assert_eq!((named.pid, named.verb.as_str()), (pid, "serve"));
    // Reading is open to every process.
    assert_eq!(store.load_builds(PROJECT).await.unwrap(), []);
    other.kill();
    let claim = store.claim_project(PROJECT, &make_holder("run")).await.unwrap();
    assert!(!claim.clean);
}

#[tokio::test]
async fn a_full_disk_is_said_and_nothing_is_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let mount = format!(
        "mount -t tmpfs -o size=1m tmpfs '{}' && exec \"$0\" \"$@\"",
        folder.path().display()
    );
    let mut command = Command::new("unshare");
    let us = std::env::current_exe().unwrap();
    command.args(["-rm", "sh", "-c", &mount]).arg(us);
    let mut try_it = Command::new("unshare");
    try_it.args(["-rm", "mount", "-t", "tmpfs", "tmpfs"]).arg(folder.path());
    let tried = try_it.stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        println!("left out: a small disk cannot be made here");
        return;
    }
    let mut other = Other::start(command, "fills_a_small_disk", &folder.path().join("unstuck.db"));
    let failed = other.says("failed").unwrap();
    assert!(failed.contains("no room left"), "{failed}");
    other.says("went on").unwrap();
    assert!(other.child.wait().unwrap().success());
}
