//! A throw-away project, and the real program in it.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use unstuck_core::engine::{Event, RecordedEvent};
use unstuck_store::tables::{QuestionRow, TaskRow};
use unstuck_store::{EventPage, SqliteStore, Store as _};

use crate::error::CliError;

/// Timeout of a check's steps.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum number of events that are read; a check makes a few dozen.
const EVENTS_MAX: u32 = 10_000;
/// Settings with short waits; the agent is a script unless a check configures another.
const SETTINGS: &str = "\
[scope]
allowed = [\"work/**\"]
[validate]
pre_commit = [\"sh check.sh\"]
protect = [\"check.sh\"]
[backoff]
base = \"10ms\"
cap = \"50ms\"
";
/// The check script, green if no file contains "broken".
const CHECK: &str = "! grep -r broken work\n";

pub(super) struct DrillFolder(PathBuf);

/// Creates the folder; existing content is from an interrupted drill.
pub(super) fn create_folder() -> Result<DrillFolder, CliError> {
    let path = std::env::temp_dir().join(format!("unstuck-drill-{}", std::process::id()));
    let unusable = CliError::unusable(&path);
    fs::create_dir_all(&path).map_err(unusable)?;
    Ok(DrillFolder(path.canonicalize().map_err(unusable)?))
}

impl DrillFolder {
    pub(super) fn remove(&self) -> Result<(), CliError> {
        fs::remove_dir_all(&self.0).map_err(CliError::unusable(&self.0))
    }
}

impl Drop for DrillFolder {
    fn drop(&mut self) {
        // The folder is already gone if nothing went wrong.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) struct DrillProject {
    root: PathBuf,
    home: PathBuf,
}

impl DrillProject {
    pub(super) fn create(folder: &DrillFolder, name: &str) -> Result<Self, String> {
        let place = Self { root: folder.0.join(name), home: folder.0.join(format!("{name}-home")) };
        let made = fs::create_dir_all(&place.root).and_then(|()| fs::create_dir_all(&place.home));
        made.map_err(|error| error.to_string())?;
        place.write_file("check.sh", CHECK)?;
        place.run_git(&["init", "--quiet", "--initial-branch=main"])?;
        Ok(place)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn write_file(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path(name);
        let folder = path.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn write_program(&self, name: &str, text: &str) -> Result<(), String> {
        self.write_file(name, text)?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(name), executable).map_err(|error| error.to_string())
    }

    /// Writes the settings of the project, and commits all files as its first commit.
    pub(super) fn set_up(&self, more: &str) -> Result<(), String> {
        self.write_file("unstuck.toml", &format!("{SETTINGS}{more}"))?;
        self.commit_all()
    }

    pub(super) fn commit_all(&self) -> Result<(), String> {
        self.run_git(&["add", "--all"])?;
        self.run_git(&["commit", "--quiet", "--message=The beginning"]).map(drop)
    }

    /// Returns a path outside the project.
    pub(super) fn home_path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Writes the script of an agent, attempt by attempt; `run` is added to the section of that name.
    pub(super) fn write_agent_script(&self, attempts: &[&str], run: &str) -> Result<(), String> {
        let attempts: Vec<String> =
            attempts.iter().map(|steps| format!("[[attempt]]\nsteps = [{steps}]\n")).collect();
        self.write_file("agent.toml", &attempts.concat())?;
        self.set_up(&format!(
            "[agent]\nprovider = \"script\"\nscript = \"agent.toml\"\n\
             [run]\n{run}"
        ))
    }

    pub(super) fn run_git(&self, arguments: &[&str]) -> Result<String, String> {
        let mut git = std::process::Command::new("git");
        git.args(arguments).current_dir(&self.root).envs(author_variables());
        let output = git.output().map_err(|error| format!("git: {error}"))?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
    }

    /// Returns the command for the program in this project, isolated from the user's settings and state.
    fn unstuck_command(&self, arguments: &[&str]) -> Result<Command, String> {
        let executable = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(executable);
        command.args(arguments).current_dir(&self.root).envs(author_variables());
        command.env("XDG_STATE_HOME", &self.home).env("XDG_CONFIG_HOME", &self.home);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        Ok(command)
    }

    pub(super) fn start_unstuck(&self, arguments: &[&str]) -> Result<Child, String> {
        self.unstuck_command(arguments)?.spawn().map_err(|error| error.to_string())
    }

    /// Runs the program to its end and expects this exit code.
    pub(super) async fn expect_exit(&self, arguments: &[&str], exit: i32) -> Result<(), String> {
        self.expect_exit_with(arguments, &[], exit).await
    }

    /// Runs the program with environment variables and expects this exit code.
    pub(super) async fn expect_exit_with(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
        exit: i32,
    ) -> Result<(), String> {
        let mut command = self.unstuck_command(arguments)?;
        command.envs(variables.iter().copied());
        let output = timeout(PATIENCE, command.output()).await;
        let output = output.map_err(|_| format!("`unstuck {}` did not end", arguments[0]))?;
        let output = output.map_err(|error| error.to_string())?;
        if output.status.code() == Some(exit) {
            return Ok(());
        }
        let said = last_lines(&output);
        Err(format!("`unstuck {}` ended with {}, not {exit}:\n{said}", arguments[0], output.status))
    }

    async fn read_store<T>(
        &self,
        read: impl AsyncFnOnce(&SqliteStore, &str) -> Result<T, unstuck_store::StoreError>,
    ) -> Result<T, String> {
        let failed = |error: unstuck_store::StoreError| error.to_string();
        let store = SqliteStore::open(self.path(".unstuck/state.db")).map_err(failed)?;
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        read(&store, &name).await.map_err(failed)
    }

    pub(super) async fn load_questions(&self) -> Result<Vec<QuestionRow>, String> {
        self.read_store(async |store, project| store.load_questions(project, None).await).await
    }

    /// Returns the only task of the only build.
    pub(super) async fn load_task(&self) -> Result<TaskRow, String> {
        let tasks = self.read_store(async |store, project| {
            let builds = store.load_builds(project).await?;
            match builds.first() {
                Some(build) => store.load_build_tasks(project, build.id).await,
                None => Ok(Vec::new()),
            }
        });
        tasks.await?.into_iter().next().ok_or_else(|| "there is no task".to_owned())
    }

    pub(super) async fn count_events(
        &self,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<usize, String> {
        let page = EventPage { after: 0, limit: EVENTS_MAX };
        let events: Vec<RecordedEvent> =
            self.read_store(async |store, project| store.load_events(project, page).await).await?;
        Ok(events.iter().filter(|recorded| wanted(&recorded.event)).count())
    }

    /// Returns whether a file is on the build's branch.
    pub(super) fn has_landed(&self, file: &str) -> bool {
        self.run_git(&["cat-file", "-e", &format!("unstuck/b0:{file}")]).is_ok()
    }
}

fn last_lines(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let said = said.join("");
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}

/// Returns the author of commits, independent of the user's git settings.
fn author_variables() -> [(&'static str, &'static str); 4] {
    [
        ("GIT_AUTHOR_NAME", "Drill"),
        ("GIT_AUTHOR_EMAIL", "drill@example.org"),
        ("GIT_COMMITTER_NAME", "Drill"),
        ("GIT_COMMITTER_EMAIL", "drill@example.org"),
    ]
}

pub(super) fn create_fifo(path: &Path) -> Result<(), String> {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .map_err(|error| format!("{}: {error}", path.display()))
}

/// Releases a process that reads from a fifo, if there still is one.
pub(super) fn release_fifo(path: &Path) -> Result<(), String> {
    let fifo = fs::OpenOptions::new().read(true).write(true).open(path);
    let written = fifo.and_then(|mut fifo| fifo.write_all(b"go\n"));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

pub(super) async fn wait_for_fifo(path: PathBuf) -> Result<(), String> {
    let fifo = pipe::OpenOptions::new().read_write(true).open_receiver(&path);
    let fifo = fifo.map_err(|error| format!("{}: {error}", path.display()))?;
    let mut byte = [0];
    let read = async {
        loop {
            fifo.readable().await?;
            match fifo.try_read(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(drop),
            }
        }
    };
    let read = timeout(PATIENCE, read).await;
    let read = read.map_err(|_| "no process reached the place to be killed at".to_owned())?;
    read.map_err(|error| error.to_string())
}
