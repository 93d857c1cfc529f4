//! Runs the program and shows what came of it.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use unstuck_world::process::{GuardCommand, guard};

/// What a run of the program came to.
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// All of it in one text, for snapshots.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exit, stdout, stderr } = self;
        write!(f, "exit {exit}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

impl Ran {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.exit, code, "{self}");
        self
    }
}

/// Agents and checks of most tests leave marks beside their worktree, at the root of the project.
pub(crate) const BESIDE: &str = "UNSTUCK_WALL_WRITABLE";
pub(crate) const HERE: &str = r#"["."]"#;

/// The folders of the programs that every machine has.
pub(crate) const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A search path with the folder of the program before others.
pub(crate) fn own_search_path(others: &str) -> String {
    let own = Path::new(env!("CARGO_BIN_EXE_unstuck")).parent().unwrap().display();
    format!("{own}:{others}")
}

/// The guard of the program.
pub(crate) fn own_guard() -> GuardCommand {
    let executable = env!("CARGO_BIN_EXE_unstuck").into();
    GuardCommand { executable, arguments: vec![guard::ARGUMENT.into()] }
}

/// The program, away from whatever the machine that runs the tests has set.
pub(crate) fn command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unstuck"));
    command.args(args).env_clear().env("COLUMNS", "100").env("XDG_STATE_HOME", state_folder());
    // Where a run is served is another port each time; the tests about it ask for it.
    command.env("UNSTUCK_SERVER_DURING_RUN", "false");
    command
}

/// A place of its own for what belongs to the user: tests run side by side.
fn state_folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs it without input.
pub(crate) fn unstuck(args: &[&str]) -> Ran {
    unstuck_reading(args, b"")
}

/// Runs it with `input` on standard input.
pub(crate) fn unstuck_reading(args: &[&str], input: &[u8]) -> Ran {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A program that ends early, as on a wrong line, leaves the rest unread.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    ran(output)
}

/// The output of a program as text.
pub(crate) trait OutputText {
    fn out(&self) -> String;
    fn err(&self) -> String;
    /// Checks the exit code.
    fn exits(self, code: i32) -> Self;
}

impl OutputText for Output {
    fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}", self.err());
        self
    }
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Ran {
    ran(command.output().unwrap())
}

/// What it came to.
pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        exit: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
