//! The parameters of a program to start.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use unstuck_core::signature::{HEAD_BYTES_MAX, TAIL_BYTES_MAX};

use super::deadlines::ProcessDeadlines;
use super::guard::{GuardOrder, TerminalSession};
use super::output::ProcessLog;
use super::own_input::OwnInput;
use super::wall::{Wall, WallLayers};

/// Default time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// The executable that becomes the guard, and the arguments that make it one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardCommand {
    /// The path of the executable; usually Unstuck's own.
    pub executable: PathBuf,
    /// The arguments; usually [`guard::ARGUMENT`](super::guard).
    pub arguments: Vec<OsString>,
}

/// The standard input of a program.
#[derive(Clone, Debug, Default)]
pub enum ProcessInput {
    /// No input.
    #[default]
    Nothing,
    /// The standard input of this process.
    Inherit,
    /// The standard input of this process from its beginning, even if an earlier attempt has read
    /// from it.
    Own(OwnInput),
    /// The given bytes, then the end of the input.
    Bytes(Vec<u8>),
    /// A pipe to which the caller of [`Process::take_stdin`](super::Process::take_stdin) writes.
    Taken,
}

/// The destination of a program's output, besides the part that is kept.
#[derive(Clone, Debug, Default)]
pub enum ProcessOutput {
    /// No destination.
    #[default]
    Capture,
    /// The standard output and error of this process, byte by byte as it arrives.
    PassThrough,
    /// A log file.
    Log(ProcessLog),
}

/// A program to start. [`Launch::new`] fills in the defaults; the fields are there to be set.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The executable of the guard.
    pub guard: GuardCommand,
    /// The lock file of the run; its directory exists. At most one process tree holds it at a time.
    pub lock: PathBuf,
    /// The program, looked up as a shell would.
    pub program: OsString,
    /// The arguments of the program.
    pub arguments: Vec<OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// `true` to inherit the environment of this process. Otherwise the program gets the variables
    /// listed in `environment` and the marker of the runs around it.
    pub inherits_environment: bool,
    /// Changes to that environment: a value, or `None` to remove a variable.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The standard input.
    pub input: ProcessInput,
    /// The destination of the output.
    pub output: ProcessOutput,
    /// Maximum number of bytes of output to keep.
    pub output_bytes_max: usize,
    /// The sandbox of the program.
    pub wall: Wall,
    /// The terminal session of the program.
    pub session: TerminalSession,
    /// The time limits of the program.
    pub deadlines: ProcessDeadlines,
    /// Time between SIGTERM and SIGKILL; zero sends SIGKILL at once.
    pub grace: Duration,
}

impl Launch {
    /// Creates a launch of `program` in `directory` with defaults: no input and arguments, captured
    /// output, no deadline, and as much kept output as the text rules look at.
    pub fn new(
        guard: GuardCommand,
        lock: impl Into<PathBuf>,
        directory: impl Into<PathBuf>,
        program: impl Into<OsString>,
    ) -> Self {
        Self {
            guard,
            lock: lock.into(),
            program: program.into(),
            arguments: Vec::new(),
            directory: directory.into(),
            inherits_environment: true,
            environment: Vec::new(),
            input: ProcessInput::default(),
            output: ProcessOutput::default(),
            output_bytes_max: HEAD_BYTES_MAX + TAIL_BYTES_MAX,
            wall: Wall::default(),
            session: TerminalSession::default(),
            deadlines: ProcessDeadlines::default(),
            grace: GRACE,
        }
    }

    pub(super) fn build_order(&self) -> GuardOrder {
        GuardOrder {
            session: self.session,
            grace: self.grace,
            wall: self.wall.clone(),
            layers: self.find_layers(),
            inherits_environment: self.inherits_environment,
            environment: self.environment.clone(),
            lock: self.lock.clone(),
            directory: self.directory.clone(),
            program: self.program.clone(),
            args: self.arguments.clone(),
        }
    }

    /// Returns the layers of walls on this machine. They are only probed if there is a wall to set
    /// up.
    fn find_layers(&self) -> WallLayers {
        if self.wall == Wall::default() {
            WallLayers::default()
        } else {
            WallLayers::detect().clone()
        }
    }
}
