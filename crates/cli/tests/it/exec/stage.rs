//! A project in a folder of its own, and the commands that are kept alive in it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;
use unstuck_core::engine::{Event, RecordedEvent};
use unstuck_store::tables::{MutationStatus, QuestionRow, RunRow, TaskRow};
use unstuck_store::{EventPage, SqliteStore, Store as _};

use crate::program::{BESIDE, HERE, command};

pub(crate) struct Stage {
    root: PathBuf,
    _owned: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let owned = tempfile::tempdir().unwrap();
        let root = owned.path().canonicalize().unwrap();
        // Whatever lies above, the project begins here.
        fs::write(root.join("unstuck.toml"), "").unwrap();
        Self { root, _owned: owned }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn name(&self) -> String {
        self.root.file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path(".unstuck/state.db")
    }

    /// The program in this project.
    pub(crate) fn unstuck(&self, args: &[&str]) -> Command {
        let mut unstuck = command(args);
        // Scripts call it by its name.
        let own = Path::new(env!("CARGO_BIN_EXE_unstuck")).parent().unwrap().display();
        let path = format!("{own}:/usr/local/bin:/usr/bin:/bin");
        unstuck.current_dir(&self.root).env("PATH", path).env(BESIDE, HERE);
        unstuck.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        unstuck
    }

    /// A shell script that is kept alive. `options` stand before the script.
    pub(crate) fn exec(&self, options: &[&str], script: &str) -> Command {
        let mut exec = self.unstuck(&["exec"]);
        exec.args(options).args(["--", "sh", "-c", script]);
        exec
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, options: &[&str], script: &str) -> Output {
        self.exec(options, script).output().unwrap()
    }

    /// Runs it in a group of its own, as a shell would, and does not wait.
    pub(crate) fn start(&self, options: &[&str], script: &str) -> Exec {
        let mut child = self.exec(options, script).process_group(0).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Exec { child, said }
    }

    /// Answers a question as a second process.
    pub(crate) fn answer(&self, question: &QuestionRow, decision: &str) -> Output {
        let id = question.id.to_string();
        let mut answer = self.unstuck(&["inbox", "answer", &id, decision]);
        if decision == "provide_guidance" {
            answer.args(["--guidance", "try it once more"]);
        }
        answer.output().unwrap()
    }

    pub(crate) fn fifo(&self, name: &str) {
        assert!(Command::new("mkfifo").arg(self.path(name)).status().unwrap().success());
    }

    /// Waits until a script opens a fifo, and reads what it says until it closes it.
    pub(crate) fn hear(&self, fifo: &str) -> String {
        fs::read_to_string(self.path(fifo)).unwrap()
    }

    /// Lets a script go on that reads a line from a fifo.
    pub(crate) fn let_go(&self, fifo: &str) {
        let mut fifo = OpenOptions::new().write(true).open(self.path(fifo)).unwrap();
        fifo.write_all(b"go\n").unwrap();
    }

    /// The text that a script has written to a file.
    pub(crate) fn wrote(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_default()
    }

    fn read<T>(&self, read: impl AsyncFnOnce(&SqliteStore, &str) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = SqliteStore::open(self.database()).unwrap();
        runtime.block_on(read(&store, &self.name()))
    }

    /// The job with a name.
    pub(crate) fn job(&self, name: &str) -> TaskRow {
        self.read(async |store, project| {
            let standing = store.load_builds(project).await.unwrap();
            let standing = standing.iter().find(|build| build.standing).unwrap();
            let tasks = store.load_build_tasks(project, standing.id).await.unwrap();
            tasks.into_iter().find(|task| task.spec.name == name).unwrap()
        })
    }

    pub(crate) fn runs(&self, job: &str) -> Vec<RunRow> {
        let job = self.job(job).id;
        self.read(async |store, project| store.load_task_runs(project, job).await.unwrap())
    }

    /// The state of the one action of a job, and its result.
    pub(crate) fn mutation(&self, job: &str) -> (MutationStatus, String) {
        let job = self.job(job).id;
        let all = async |store: &SqliteStore, project: &str| {
            store.load_task_mutations(project, job).await.unwrap()
        };
        let [row] = <[_; 1]>::try_from(self.read(all)).unwrap();
        (row.status, row.result.to_string())
    }

    pub(crate) fn questions(&self) -> Vec<QuestionRow> {
        self.read(async |store, project| store.load_questions(project, None).await.unwrap())
    }

    pub(crate) fn question(&self) -> QuestionRow {
        let all = self.questions();
        let [question] = <[QuestionRow; 1]>::try_from(all).unwrap();
        question
    }

    pub(crate) fn events(&self) -> Vec<RecordedEvent> {
        let page = EventPage { after: 0, limit: 10_000 };
        self.read(async |store, project| store.load_events(project, page).await.unwrap())
    }

    /// All of them, however many there are.
    pub(crate) fn all_events(&self) -> Vec<RecordedEvent> {
        let mut all: Vec<RecordedEvent> = Vec::new();
        loop {
            let page = EventPage { after: all.last().map_or(0, |last| last.seq), limit: 10_000 };
            let more =
                self.read(async |store, project| store.load_events(project, page).await.unwrap());
            if more.is_empty() {
                return all;
            }
            all.extend(more);
        }
    }

    /// The lock files of runs that are left.
    pub(crate) fn run_locks(&self) -> Vec<String> {
        let all = fs::read_dir(self.path(".unstuck/runs")).unwrap();
        let all = all.map(|file| file.unwrap().path());
        let locks = all.filter(|path| path.extension().is_some_and(|kind| kind == "lock"));
        locks.map(|path| path.display().to_string()).collect()
    }

    /// The lost runs: for each, true when we had ended it ourselves.
    pub(crate) fn crashes(&self) -> Vec<bool> {
        let clean = |recorded: RecordedEvent| match recorded.event {
            Event::RunCrashed { clean, .. } => Some(clean),
            _ => None,
        };
        self.events().into_iter().filter_map(clean).collect()
    }
}

/// A command that is being kept alive.
pub(crate) struct Exec {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Exec {
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

    /// As the terminal does it at Ctrl-C.
    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; tells what it and its command wrote since.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        let (mut out, mut said) = (String::new(), String::new());
        self.said.read_to_string(&mut said).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap(), out, said)
    }

    /// Waits for its end and nothing of its command.
    pub(crate) fn status(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// The reading end of a fifo that every process of a tree holds.
pub(crate) struct Alive(File);

impl Alive {
    /// Waits until a process holds the other end.
    pub(crate) fn of(fifo: &Path) -> Self {
        Self(File::open(fifo).unwrap())
    }

    /// Waits until so many lines were said.
    pub(crate) fn hear(&mut self, lines: usize) {
        let mut byte = [0];
        let mut heard = 0;
        while heard < lines {
            assert_eq!(self.0.read(&mut byte).unwrap(), 1, "all ended after {heard} lines");
            heard += usize::from(byte == *b"\n");
        }
    }

    /// True when no process is left at this very moment.
    pub(crate) fn none_left(&mut self) -> bool {
        fcntl_setfl(&self.0, OFlags::NONBLOCK).unwrap();
        self.0.read(&mut [0; 64]).is_ok_and(|length| length == 0)
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
