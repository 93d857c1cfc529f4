//! The parameters of a program to start.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::signature::{HEAD_BYTES_MAX, TAIL_BYTES_MAX};

use super::deadlines::ProcessDeadlines;
use super::guard::report::{GuardRefusal, GuardReport};
use super::guard::{GuardOrder, TerminalSession};
use super::log::ProcessLog;
use super::own_input::OwnInput;
use super::process::Process;
use super::waiting::IdleGuard;
use super::wall::{Wall, WallEnforcement, WallLayers};

/// The source of faults about starting.
const SOURCE: &str = "process.start";

/// Maximum number of attempts to set up a wall. A local socket that was to be covered may be gone
/// by then.
const WALL_TRIES_MAX: u32 = 4;

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
    /// A pipe to which the caller of [`Process::take_stdin`] writes.
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

    /// Starts the program. An error means that no program runs: the lock is held, or the guard
    /// cannot be started. A program that cannot be started is no error here; [`Process::wait`]
    /// reports it.
    pub async fn start(self) -> Result<Process, Fault> {
        let guard = self.start_guard()?;
        self.start_under(guard).await
    }

    /// Starts the program under a guard that was started ahead, for the same kind of input.
    pub async fn start_under(self, guard: IdleGuard) -> Result<Process, Fault> {
        Box::pin(self.start_with_retries(guard)).await
    }

    async fn start_with_retries(self, mut guard: IdleGuard) -> Result<Process, Fault> {
        let tries = if self.wall.is_open() { 1 } else { WALL_TRIES_MAX };
        for _ in 1..tries {
            let mut process = self.clone().send_order(guard).await?;
            if !process.is_without_wall() {
                return Ok(process);
            }
            // The output of this attempt does not come from the program.
            process.launch.output = ProcessOutput::Capture;
            process.wait().await;
            guard = self.start_guard()?;
        }
        self.send_order(guard).await
    }

    fn start_guard(&self) -> Result<IdleGuard, Fault> {
        IdleGuard::start(&self.guard, &self.input).map_err(|error| {
            let guard = self.guard.executable.display();
            start_fault(format!("the guard {guard} could not be started: {error}"))
        })
    }

    /// Sends the order to a guard.
    async fn send_order(self, guard: IdleGuard) -> Result<Process, Fault> {
        let started = Instant::now();
        let silent = || {
            let guard = self.guard.executable.display();
            start_fault(format!("{guard} ended without a word; it is no guard"))
        };
        let told = guard.send_order(self.build_order()).await;
        let (guard, mut status, stop) = told.map_err(|error| silent().with_cause(error))?;
        let (held, gone) = match status.next_report().await {
            Some(GuardReport::Started(held)) => (held, None),
            Some(GuardReport::Gone(gone)) => (WallEnforcement::default(), Some(gone)),
            Some(GuardReport::Refused(refusal)) => return Err(self.refusal_fault(refusal)),
            // The guard was killed, perhaps after it had started the program: [`Process::wait`]
            // finds that out, and kills what is left.
            None if self.lock.exists() => (WallEnforcement::default(), None),
            None => return Err(silent()),
        };
        Ok(Process { launch: self, started, guard, status, held, gone, stop })
    }

    fn build_order(&self) -> GuardOrder {
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

    fn refusal_fault(&self, refusal: GuardRefusal) -> Fault {
        let lock = self.lock.display();
        let error = io::Error::from_raw_os_error;
        match refusal {
            GuardRefusal::Held => {
                start_fault(format!("{lock} is held: its last program is not gone yet"))
            }
            GuardRefusal::Lock(number) => {
                start_fault(format!("{lock} cannot be used")).with_cause(error(number))
            }
            GuardRefusal::Setup(number) => {
                start_fault("the guard cannot work here").with_cause(error(number))
            }
        }
    }
}

fn start_fault(message: impl Into<String>) -> Fault {
    Fault::internal_error(SOURCE, message, Internal { component: "process".to_owned() })
}
