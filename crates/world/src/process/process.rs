//! The start of a program under its guard, and the program while it runs.

use std::io;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Fault, Internal};

use super::deadlines::Deadline;
use super::ended::{ExceededLimit, ProcessEnd, ProcessResult, StartFailure, file_size_note};
use super::guard::report::{GuardRefusal, GuardReport, ProgramExit, TreeEnd};
use super::launch::{Launch, ProcessInput, ProcessOutput};
use super::output::{OutputFlow, OutputStream};
use super::reap::reap_run;
use super::supervisor::{GuardChild, GuardReports, IdleGuard, ProcessStopper};
use super::wall::{ResourceLimits, WallEnforcement};

/// Time for the streams to end. Once the tree is gone they end at once; if one does not, a process
/// that the guard could not know of holds it, and no output of the program is left in it.
const STREAM_END_MAX: Duration = Duration::from_secs(2);

/// Time to search for the processes of a guard that was killed.
const LOST_PATIENCE: Duration = Duration::from_secs(10);

const SOURCE: &str = "process.start";

/// Maximum number of attempts to set up a wall. A local socket that was to be covered may be gone
/// by then.
const WALL_TRIES_MAX: u32 = 4;

impl Launch {
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

/// A running program. Dropping it ends the program and all processes that it has started.
#[derive(Debug)]
pub struct Process {
    launch: Launch,
    started: Instant,
    guard: GuardChild,
    status: GuardReports,
    held: WallEnforcement,
    /// The end of the tree, already known if the program was not started.
    gone: Option<TreeEnd>,
    stop: ProcessStopper,
}

impl Process {
    /// Returns a handle that ends the program early.
    pub fn stopper(&self) -> ProcessStopper {
        self.stop.clone()
    }

    /// Returns the parts of the wall that are really enforced.
    pub const fn wall_enforcement(&self) -> WallEnforcement {
        self.held
    }

    /// Returns whether the program was not started because its wall could not be set up.
    fn is_without_wall(&self) -> bool {
        let program = self.gone.map(|gone| gone.program);
        program == Some(ProgramExit::NotStarted(StartFailure::NoWall))
    }

    /// Returns the standard input of the program, if it was launched with [`ProcessInput::Taken`].
    /// Dropping it ends the input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        match self.launch.input {
            ProcessInput::Taken => self.guard.stdin.take(),
            ProcessInput::Nothing
            | ProcessInput::Inherit
            | ProcessInput::Own(_)
            | ProcessInput::Bytes(_) => None,
        }
    }

    /// Returns the standard output of the program. From then on it is neither kept nor passed on,
    /// and does not move a deadline: all of that is up to the caller.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.guard.stdout.take()
    }

    /// Returns the standard error of the program, under the same conditions.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.guard.stderr.take()
    }

    /// Waits until no process of the program is left. Deadlines count and output flows only during
    /// this call.
    pub async fn wait(mut self) -> ProcessResult {
        let flow = OutputFlow::with_limit(self.launch.output_bytes_max);
        let feeding = feed_input(self.guard.stdin.take(), std::mem::take(&mut self.launch.input));
        let streams = forward_output(&mut self.launch, &mut self.guard, &flow);
        tokio::pin!(feeding, streams);
        let mut fed = false;
        let mut flowing = true;
        let mut gone = self.gone;
        let mut timed_out = None;
        let deadlines = self.launch.deadlines;
        while gone.is_none() {
            tokio::select! {
                () = &mut feeding, if !fed => fed = true,
                () = &mut streams, if flowing => flowing = false,
                passed = deadlines.wait_until_passed(self.started, &flow), if timed_out.is_none() => {
                    timed_out = Some(passed);
                    self.stop.stop();
                }
                report = self.status.next_report() => match report {
                    Some(GuardReport::Gone(report)) => gone = Some(report),
                    Some(GuardReport::Started(_) | GuardReport::Refused(_)) => {}
                    None => break,
                },
            }
        }
        let how = match gone {
            Some(gone) => to_process_end(gone, timed_out, self.launch.wall.limits),
            None => self.end_lost_tree().await,
        };
        while flowing {
            let before = flow.last_byte_at();
            let ended = timeout(STREAM_END_MAX, &mut streams).await.is_ok();
            flowing = !ended && flow.last_byte_at() != before;
        }
        self.guard.dismiss().await;
        let mut output = flow.take_output();
        if let (ProcessEnd::Exited(1..), Some(allowed)) = (how, self.launch.wall.limits.file_bytes)
            && let Some(note) = file_size_note(&output.to_bytes(), allowed)
        {
            output.push(note.as_bytes());
        }
        ProcessResult {
            how,
            output,
            duration: self.started.elapsed(),
            leftovers_ended: gone.map_or(0, |gone| gone.leftovers),
            lost_output: flow.find_lost_output(),
        }
    }

    /// Waits until no process of the program is left, and ends it if `stop` is canceled.
    pub async fn wait_or_stop(self, stop: &CancellationToken) -> ProcessResult {
        let stopper = self.stopper();
        let wait = self.wait();
        tokio::pin!(wait);
        tokio::select! {
            ended = &mut wait => ended,
            () = stop.cancelled() => {
                stopper.stop();
                wait.await
            }
        }
    }

    /// Handles a killed guard: its processes go on, so they are searched for and killed.
    async fn end_lost_tree(&self) -> ProcessEnd {
        let lock = self.launch.lock.clone();
        let reaped = tokio::task::spawn_blocking(move || reap_run(&lock, LOST_PATIENCE).is_ok());
        ProcessEnd::Lost { tree_gone: reaped.await.unwrap_or(false) }
    }
}

/// Ends the program even if a [`ProcessStopper`] is still held elsewhere.
impl Drop for Process {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn to_process_end(
    gone: TreeEnd,
    timed_out: Option<(Deadline, Duration)>,
    limits: ResourceLimits,
) -> ProcessEnd {
    match (gone.program, timed_out) {
        (ProgramExit::NotStarted(reason), _) => ProcessEnd::NotStarted(reason),
        (_, Some((which, limit))) if gone.stopped => ProcessEnd::TimedOut { which, limit },
        (_, None) if gone.stopped => ProcessEnd::Stopped,
        // The program ended by itself just before it was stopped.
        (ProgramExit::Exited(status), _) => ProcessEnd::Exited(status),
        (ProgramExit::Signalled(signal), _) => match limits.file_bytes {
            Some(allowed) if signal == Signal::XFSZ.as_raw() => {
                ProcessEnd::BeyondLimit(ExceededLimit::FileSize(allowed))
            }
            _ => ProcessEnd::Signalled(signal),
        },
        (ProgramExit::BeyondLimit(limit), _) => ProcessEnd::BeyondLimit(limit),
    }
}

/// Returns the future that handles the program's output until its end.
fn forward_output<'flow>(
    launch: &mut Launch,
    guard: &mut GuardChild,
    flow: &'flow OutputFlow,
) -> impl Future<Output = ()> + use<'flow> {
    let stdout = guard.stdout.take();
    let stderr = guard.stderr.take();
    let output = std::mem::take(&mut launch.output);
    flow.note_pipe(stdout.as_ref());
    async move {
        if let ProcessOutput::Log(log) = &output {
            let opened = log.open();
            let opened = opened.as_ref();
            tokio::join!(
                flow.log_output(OutputStream::Out, stdout, opened, log.redactor.start_stream()),
                flow.log_output(OutputStream::Err, stderr, opened, log.redactor.start_stream())
            );
            return;
        }
        let passes = matches!(output, ProcessOutput::PassThrough);
        let to_stdout = passes.then(tokio::io::stdout);
        let to_stderr = passes.then(tokio::io::stderr);
        tokio::join!(
            flow.copy_output(OutputStream::Out, stdout, to_stdout),
            flow.copy_output(OutputStream::Err, stderr, to_stderr)
        );
    }
}

/// Feeds the input to a program, which may end without reading all of it.
async fn feed_input(stdin: Option<ChildStdin>, input: ProcessInput) {
    match (stdin, input) {
        (Some(mut stdin), ProcessInput::Bytes(bytes)) => {
            let _ = stdin.write_all(&bytes).await;
        }
        (Some(stdin), ProcessInput::Own(own)) => own.feed_program(stdin).await,
        _ => {}
    }
}
