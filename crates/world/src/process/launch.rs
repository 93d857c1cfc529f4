//! How a program is to be started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::signature::{HEAD_BYTES_MAX, TAIL_BYTES_MAX};

use super::deadlines::Deadlines;
use super::guard::report::{Refusal, Report};
use super::guard::{Order, Session};
use super::log::Log;
use super::own_input::OwnInput;
use super::process::Process;
use super::waiting::Waiting;
use super::wall::{Held, Layers, Wall};

/// Where a failure to start is raised.
const SOURCE: &str = "process.start";

/// How often it is tried to put a wall up. A local socket that it was to cover may be gone by then.
const WALL_TRIES_MAX: u32 = 4;

/// From the polite signal to the one that cannot be refused, unless the caller says otherwise.
const GRACE: Duration = Duration::from_secs(2);

/// The executable that becomes the guard, and the arguments that make it one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Usually our own.
    pub executable: PathBuf,
    /// Usually [`guard::ARGUMENT`](super::guard).
    pub arguments: Vec<OsString>,
}

/// What a program reads.
#[derive(Clone, Debug, Default)]
pub enum Input {
    /// Nothing.
    #[default]
    Nothing,
    /// What we would read ourselves.
    Inherit,
    /// The same from its beginning, also where an earlier try has read of it.
    Own(OwnInput),
    /// These bytes, then its end.
    Bytes(Vec<u8>),
    /// What is written by whoever takes it: [`Process::take_stdin`].
    Taken,
}

/// Where the output of a program goes, besides being kept.
#[derive(Clone, Debug, Default)]
pub enum Output {
    /// Nowhere.
    #[default]
    Capture,
    /// To our own standard output and error, byte by byte as it comes.
    PassThrough,
    /// To a file.
    Log(Log),
}

/// A program to be started. [`Launch::new`] fills in what is usual; the fields are there to be set.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What becomes the guard.
    pub guard: Guard,
    /// The lock file of the run; its directory exists. Not more than one tree has it at a time.
    pub lock: PathBuf,
    /// The program, looked up as a shell would.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it starts.
    pub directory: PathBuf,
    /// Whether it has our own environment. Without it, it has what is stated here and the mark of
    /// the runs around it.
    pub inherits_environment: bool,
    /// Changes to that: a value, or none for a variable that is taken away.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// What it reads.
    pub input: Input,
    /// Where its output goes.
    pub output: Output,
    /// How much of its output is kept.
    pub output_bytes_max: usize,
    /// What it is kept from.
    pub wall: Wall,
    /// Whose terminal it belongs to.
    pub session: Session,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// From the polite signal to the one that cannot be refused; none for zero.
    pub grace: Duration,
}

impl Launch {
    /// `program` in `directory`: without input and arguments, captured, with no deadline, keeping
    /// as much output as the rules about foreign text look at.
    pub fn new(
        guard: Guard,
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
            input: Input::default(),
            output: Output::default(),
            output_bytes_max: HEAD_BYTES_MAX + TAIL_BYTES_MAX,
            wall: Wall::default(),
            session: Session::default(),
            deadlines: Deadlines::default(),
            grace: GRACE,
        }
    }

    /// Starts it. An error means that nothing runs: its lock is held, or there is no guard. A
    /// program that cannot be started is no error here; waiting for it tells.
    pub async fn start(self) -> Result<Process, Fault> {
        let guard = self.start_guard()?;
        self.start_under(guard).await
    }

    /// Starts it under a guard that came up ahead, for the same kind of input.
    pub async fn start_under(self, guard: Waiting) -> Result<Process, Fault> {
        Box::pin(self.start_trying(guard)).await
    }

    async fn start_trying(self, mut guard: Waiting) -> Result<Process, Fault> {
        let tries = if self.wall.is_open() { 1 } else { WALL_TRIES_MAX };
        for _ in 1..tries {
            let mut process = self.clone().tell(guard).await?;
            if !process.is_without_wall() {
                return Ok(process);
            }
            // What there is to read is not from the program.
            process.launch.output = Output::Capture;
            process.wait().await;
            guard = self.start_guard()?;
        }
        self.tell(guard).await
    }

    fn start_guard(&self) -> Result<Waiting, Fault> {
        Waiting::start(&self.guard, &self.input).map_err(|error| {
            let guard = self.guard.executable.display();
            fault(format!("the guard {guard} could not be started: {error}"))
        })
    }

    /// Gives a guard the order to start it.
    async fn tell(self, guard: Waiting) -> Result<Process, Fault> {
        let started = Instant::now();
        let silent = || {
            let guard = self.guard.executable.display();
            fault(format!("{guard} ended without a word; it is no guard"))
        };
        let told = guard.tell(self.order()).await;
        let (guard, mut status, stop) = told.map_err(|error| silent().caused_by(error))?;
        let (held, gone) = match status.next().await {
            Some(Report::Started(held)) => (held, None),
            Some(Report::Gone(gone)) => (Held::default(), Some(gone)),
            Some(Report::Refused(refusal)) => return Err(self.refused(refusal)),
            // It was killed, perhaps after it had started the program: waiting for it finds out, and
            // ends what is left.
            None if self.lock.exists() => (Held::default(), None),
            None => return Err(silent()),
        };
        Ok(Process { launch: self, started, guard, status, held, gone, stop })
    }

    fn order(&self) -> Order {
        Order {
            session: self.session,
            grace: self.grace,
            wall: self.wall.clone(),
            layers: self.layers(),
            inherits_environment: self.inherits_environment,
            environment: self.environment.clone(),
            lock: self.lock.clone(),
            directory: self.directory.clone(),
            program: self.program.clone(),
            args: self.arguments.clone(),
        }
    }

    /// What walls are made of here. It is tried out where there is a wall to put up.
    fn layers(&self) -> Layers {
        if self.wall == Wall::default() { Layers::default() } else { Layers::here().clone() }
    }

    fn refused(&self, refusal: Refusal) -> Fault {
        let lock = self.lock.display();
        let error = io::Error::from_raw_os_error;
        match refusal {
            Refusal::Held => fault(format!("{lock} is held: its last program is not gone yet")),
            Refusal::Lock(number) => {
                fault(format!("{lock} cannot be used")).caused_by(error(number))
            }
            Refusal::Setup(number) => fault("the guard cannot work here").caused_by(error(number)),
        }
    }
}

fn fault(message: impl Into<String>) -> Fault {
    Fault::internal_error(SOURCE, message, Internal { component: "process".to_owned() })
}
