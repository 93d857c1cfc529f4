//! A repository whose tasks are worked on by scripted agents, one script for each.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use unstuck_core::engine::{Event, RecordedEvent};
use unstuck_store::tables::{QuestionRow, TaskRow};
use unstuck_store::{EventPage, SqliteStore, Store as _};

use crate::program::{BESIDE, HERE, Ran, command, ran};

/// The settings of every project here: the agent is a script, and everything is quick.
const SETTINGS: &str = "\
[agent]
provider = \"script\"
script = \"agents/{task}.toml\"
[validate]
pre_commit = [\"sh check.sh\"]
protect = [\"check.sh\"]
[run]
[backoff]
base = \"10ms\"
cap = \"20ms\"
";
/// Green when no file says that something is broken.
const CHECK: &str = "! grep -rl broken work 2>/dev/null\n";

pub(crate) struct Stage {
    root: PathBuf,
    _owned: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let owned = tempfile::tempdir().unwrap();
        let root = owned.path().canonicalize().unwrap();
        let stage = Self { root, _owned: owned };
        stage.write("unstuck.toml", SETTINGS);
        stage.write("check.sh", CHECK);
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        stage.commit();
        stage
    }

    /// Writes the script of an agent for a task, attempt by attempt: lines of TOML steps.
    pub(crate) fn agent(&self, task: &str, attempts: &[&str]) {
        let attempts: Vec<String> =
            attempts.iter().map(|steps| format!("[[attempt]]\nsteps = [{steps}]\n")).collect();
        self.write(&format!("agents/{task}.toml"), &attempts.concat());
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// More settings at the end of the file.
    pub(crate) fn set(&self, more: &str) {
        let settings = fs::read_to_string(self.path("unstuck.toml")).unwrap();
        self.write("unstuck.toml", &format!("{settings}{more}"));
        self.commit();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=so far"]);
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = git(&self.root, args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The program in this project.
    pub(crate) fn unstuck(&self, args: &[&str]) -> Command {
        let mut unstuck = command(args);
        unstuck.current_dir(&self.root).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        unstuck.env("HOME", &self.root).env(BESIDE, HERE);
        unstuck.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        unstuck
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ran(self.unstuck(args).output().unwrap())
    }

    /// Runs it in a group of its own, as a shell would, and does not wait.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Self::start_with(self.unstuck(args))
    }

    /// The same with a command that the test has prepared.
    pub(crate) fn start_with(mut unstuck: Command) -> Running {
        let mut child = unstuck.process_group(0).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Running { child, said }
    }

    pub(crate) fn fifo(&self, name: &str) {
        assert!(Command::new("mkfifo").arg(self.path(name)).status().unwrap().success());
    }

    /// Waits until an agent opens a fifo, and reads what it says until it closes it.
    pub(crate) fn hear(&self, fifo: &str) -> String {
        fs::read_to_string(self.path(fifo)).unwrap()
    }

    fn read<T>(&self, read: impl AsyncFnOnce(&SqliteStore, &str) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = SqliteStore::open(self.path(".unstuck/state.db")).unwrap();
        let name = self.root.file_name().unwrap().to_str().unwrap();
        runtime.block_on(read(&store, name))
    }

    /// The tasks of the newest build of a plan, by name.
    pub(crate) fn tasks(&self) -> Vec<TaskRow> {
        self.read(async |store, project| {
            let builds = store.load_builds(project).await.unwrap();
            let newest = builds.iter().find(|build| !build.standing).unwrap().id;
            store.load_build_tasks(project, newest).await.unwrap()
        })
    }

    pub(crate) fn states(&self) -> Vec<(String, &'static str)> {
        let tasks = self.tasks().into_iter();
        tasks.map(|row| (row.spec.name.clone(), row.moved.state.kind().as_str())).collect()
    }

    pub(crate) fn questions(&self) -> Vec<QuestionRow> {
        self.read(async |store, project| store.load_questions(project, None).await.unwrap())
    }

    pub(crate) fn events(&self) -> Vec<RecordedEvent> {
        let page = EventPage { after: 0, limit: 10_000 };
        self.read(async |store, project| store.load_events(project, page).await.unwrap())
    }

    /// The number of events that match.
    pub(crate) fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.events().iter().filter(|recorded| wanted(&recorded.event)).count()
    }

    /// The files that are on a branch, with what is in them.
    pub(crate) fn on_branch(&self, branch: &str, path: &str) -> String {
        self.git(&["show", &format!("{branch}:{path}")])
    }
}

/// Services that the program talks to live beside it.
pub(crate) fn outside() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Git as a user without any settings of their own.
fn git(directory: &Path, args: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(args).current_dir(directory).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
        git.env(name, "Ada");
    }
    for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        git.env(name, "ada@example.org");
    }
    git
}

/// The program while it runs.
pub(crate) struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Running {
    /// Reads what it says until a line holds these words.
    pub(crate) fn hear(&mut self, words: &str) -> String {
        let mut said = String::new();
        while !said.contains(words) {
            let read = self.said.read_line(&mut said).unwrap();
            assert!(read > 0, "it ended before it said {words:?}: {said}");
        }
        said
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; tells how it ended and what it said since.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}
