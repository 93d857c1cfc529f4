//! A program that runs under its guard.

use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::deadlines::Deadline;
use super::ended::{ProcessEnd, ProcessResult, StartFailure};
use super::guard;
use super::guard::report::{GuardReport, ProgramExit, TreeEnd};
use super::guard_child::GuardChild;
use super::launch::{Launch, ProcessInput, ProcessOutput};
use super::output::OutputFlow;
use super::reap::reap_run;
use super::wall::WallEnforcement;

/// Time for the streams to end. Once the tree is gone they end at once; if one does not, a process
/// that the guard could not know of holds it, and no output of the program is left in it.
const STREAM_END_MAX: Duration = Duration::from_secs(2);

/// Time to search for the processes of a guard that was killed.
const LOST_PATIENCE: Duration = Duration::from_secs(10);

/// A running program. Dropping it ends the program and all processes that it has started.
#[derive(Debug)]
pub struct Process {
    pub(super) launch: Launch,
    pub(super) started: Instant,
    pub(super) guard: GuardChild,
    pub(super) status: GuardReports,
    pub(super) held: WallEnforcement,
    /// The end of the tree, already known if the program was not started.
    pub(super) gone: Option<TreeEnd>,
    pub(super) stop: ProcessStopper,
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
    pub(super) fn is_without_wall(&self) -> bool {
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
            Some(gone) => to_process_end(gone, timed_out),
            None => self.end_lost_tree().await,
        };
        while flowing {
            let before = flow.last_byte_at();
            let ended = timeout(STREAM_END_MAX, &mut streams).await.is_ok();
            flowing = !ended && flow.last_byte_at() != before;
        }
        self.guard.dismiss().await;
        ProcessResult {
            how,
            output: flow.take_output(),
            duration: self.started.elapsed(),
            leftovers_ended: gone.map_or(0, |gone| gone.leftovers),
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

fn to_process_end(gone: TreeEnd, timed_out: Option<(Deadline, Duration)>) -> ProcessEnd {
    match (gone.program, timed_out) {
        (ProgramExit::NotStarted(reason), _) => ProcessEnd::NotStarted(reason),
        (_, Some((which, limit))) if gone.stopped => ProcessEnd::TimedOut { which, limit },
        (_, None) if gone.stopped => ProcessEnd::Stopped,
        // The program ended by itself just before it was stopped.
        (ProgramExit::Exited(status), _) => ProcessEnd::Exited(status),
        (ProgramExit::Signalled(signal), _) => ProcessEnd::Signalled(signal),
        (ProgramExit::TooMany(allowed), _) => ProcessEnd::TooMany { allowed },
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
    async move {
        if let ProcessOutput::Log(log) = &output {
            let opened = log.open();
            let opened = opened.as_ref();
            tokio::join!(
                flow.log_output(stdout, opened, log.redaction_stream()),
                flow.log_output(stderr, opened, log.redaction_stream())
            );
            return;
        }
        let passes = matches!(output, ProcessOutput::PassThrough);
        let to_stdout = passes.then(tokio::io::stdout);
        let to_stderr = passes.then(tokio::io::stderr);
        tokio::join!(flow.copy_output(stdout, to_stdout), flow.copy_output(stderr, to_stderr));
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

/// A handle that ends a program and all processes that it has started.
#[derive(Clone, Debug)]
pub struct ProcessStopper(Arc<Mutex<Option<Sender>>>);

impl ProcessStopper {
    pub(super) fn from_control(control: Sender) -> Self {
        Self(Arc::new(Mutex::new(Some(control))))
    }

    /// Ends the program; repeated calls have no effect. The program is gone when [`Process::wait`]
    /// returns.
    ///
    /// The guard receives a byte and gives the program its grace period. The end of the pipe
    /// without that byte means that the supervisor died, and then there is no grace period.
    pub fn stop(&self) {
        let mut control = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if control.as_ref().is_some_and(|control| control.try_write(&[guard::END]).is_err()) {
            control.take();
        }
    }
}

/// The reports of the guard.
#[derive(Debug)]
pub(super) struct GuardReports {
    pipe: BufReader<Receiver>,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
}

impl GuardReports {
    pub(super) fn from_pipe(pipe: PipeReader) -> io::Result<Self> {
        let pipe = BufReader::new(Receiver::from_owned_fd(OwnedFd::from(pipe))?);
        Ok(Self { pipe, line: Vec::new() })
    }

    /// Returns the next report; `None` if the guard is gone.
    pub(super) async fn next_report(&mut self) -> Option<GuardReport> {
        self.pipe.read_until(b'\n', &mut self.line).await.ok()?;
        serde_json::from_slice(&std::mem::take(&mut self.line)).ok()
    }
}
