//! A project in a folder of its own, and the program at work in it.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use unstuck_core::engine::{Event, RecordedEvent};
use unstuck_core::fault::Code;
use unstuck_store::tables::{MutationStatus, QuestionRow, RunRow, TaskRow};
use unstuck_store::{EventPage, SqliteStore, Store as _};
use unstuck_testkit::stage::{RunningProgram, make_fifo, write_file};

use crate::program::{BESIDE, HERE, Ran, SEARCH_PATH, command, own_search_path, ran};

/// The settings of a project with scripted agents: one script for each task, and everything is quick.
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

pub(crate) struct Project {
    root: PathBuf,
    /// The folders in which the program looks for others.
    search_path: String,
    home: Option<PathBuf>,
    _owned: TempDir,
}

impl Project {
    /// A project without settings, whose scripts call the program by its name.
    pub(crate) fn new() -> Self {
        let owned = tempfile::tempdir().unwrap();
        let root = owned.path().canonicalize().unwrap();
        // Whatever lies above, the project begins here.
        fs::write(root.join("unstuck.toml"), "").unwrap();
        Self { root, search_path: own_search_path(SEARCH_PATH), home: None, _owned: owned }
    }

    /// A repository whose tasks are worked on by scripted agents.
    pub(crate) fn with_agents() -> Self {
        let mut project = Self::new();
        SEARCH_PATH.clone_into(&mut project.search_path);
        project.home = Some(project.root.clone());
        project.write("unstuck.toml", SETTINGS);
        project.write("check.sh", CHECK);
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.commit();
        project
    }

    /// The same with the script of one agent.
    pub(crate) fn with_agent(task: &str, attempts: &[&str]) -> Self {
        let project = Self::with_agents();
        project.agent(task, attempts);
        project.commit();
        project
    }

    /// Writes the script of an agent for a task, attempt by attempt: lines of TOML steps.
    pub(crate) fn agent(&self, task: &str, attempts: &[&str]) {
        let attempts: Vec<String> =
            attempts.iter().map(|steps| format!("[[attempt]]\nsteps = [{steps}]\n")).collect();
        self.write(&format!("agents/{task}.toml"), &attempts.concat());
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write_file(&self.path(path), text);
    }

    /// More settings at the end of the file.
    pub(crate) fn set(&self, more: &str) {
        let settings = self.wrote("unstuck.toml");
        self.write("unstuck.toml", &format!("{settings}{more}"));
        self.commit();
    }

    /// Puts other settings in the place of these.
    pub(crate) fn replace_setting(&self, known: &str, new: &str) {
        self.write("unstuck.toml", &self.wrote("unstuck.toml").replace(known, new));
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

    pub(crate) fn name(&self) -> String {
        self.root.file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path(".unstuck/state.db")
    }

    /// The program in this project.
    pub(crate) fn unstuck(&self, args: &[&str]) -> Command {
        let mut unstuck = command(args);
        unstuck.current_dir(&self.root).env("PATH", &self.search_path).env(BESIDE, HERE);
        unstuck.envs(self.home.iter().map(|home| ("HOME", home)));
        unstuck.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        unstuck
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ran(self.unstuck(args).output().unwrap())
    }

    /// Starts it and does not wait.
    pub(crate) fn start(&self, args: &[&str]) -> RunningProgram {
        RunningProgram::follow_stdout(self.unstuck(args))
    }

    /// A shell script that is kept alive. `options` stand before the script.
    pub(crate) fn exec(&self, options: &[&str], script: &str) -> Command {
        let mut exec = self.unstuck(&["exec"]);
        exec.args(options).args(["--", "sh", "-c", script]);
        exec
    }

    /// Runs a script that is kept alive to its end.
    pub(crate) fn run_exec(&self, options: &[&str], script: &str) -> Output {
        self.exec(options, script).output().unwrap()
    }

    /// Starts it and does not wait.
    pub(crate) fn start_exec(&self, options: &[&str], script: &str) -> RunningProgram {
        RunningProgram::follow_stderr(self.exec(options, script))
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
        make_fifo(&self.path(name));
    }

    pub(crate) fn fifos(&self, names: &[&str]) {
        for name in names {
            self.fifo(name);
        }
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
        let page = EventPage { after: 0, limit: u32::MAX };
        self.read(async |store, project| store.load_events(project, page).await.unwrap())
    }

    /// What is found in the events, in order.
    pub(crate) fn find_events<T>(&self, find: impl FnMut(Event) -> Option<T>) -> Vec<T> {
        self.events().into_iter().map(|recorded| recorded.event).filter_map(find).collect()
    }

    /// The codes of the faults that were met, in order.
    pub(crate) fn fault_codes(&self) -> Vec<Code> {
        self.find_events(|event| match event {
            Event::FaultMet { fault, .. } => Some(fault.code()),
            _ => None,
        })
    }

    /// The number of events that match.
    pub(crate) fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.events().iter().filter(|recorded| wanted(&recorded.event)).count()
    }

    /// The files that are on a branch, with what is in them.
    pub(crate) fn on_branch(&self, branch: &str, path: &str) -> String {
        self.git(&["show", &format!("{branch}:{path}")])
    }

    /// The lock files of runs that a process still holds. A free one may stay for a moment.
    pub(crate) fn run_locks(&self) -> Vec<String> {
        let all = fs::read_dir(self.path(".unstuck/runs")).unwrap();
        let all = all.map(|file| file.unwrap().path());
        let locks = all.filter(|path| path.extension().is_some_and(|kind| kind == "lock"));
        let is_held = |path: &PathBuf| File::open(path).is_ok_and(|lock| lock.try_lock().is_err());
        locks.filter(is_held).map(|path| path.display().to_string()).collect()
    }

    /// The lost runs: for each, true when we had ended it ourselves.
    pub(crate) fn crashes(&self) -> Vec<bool> {
        self.find_events(|event| match event {
            Event::RunCrashed { clean, .. } => Some(clean),
            _ => None,
        })
    }
}

/// Services that the program talks to live beside it.
pub(crate) fn outside() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Git as a user without any settings of their own.
fn git(directory: &Path, args: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(args).current_dir(directory).env_clear().env("PATH", SEARCH_PATH);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
        git.env(name, "Ada");
    }
    for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        git.env(name, "ada@example.org");
    }
    git
}
