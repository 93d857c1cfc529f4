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
use super::ended::{Ended, How, NotStarted};
use super::guard;
use super::guard::report::{Gone, Program, Report};
use super::guard_child::GuardChild;
use super::launch::{Input, Launch, Output};
use super::output::Flow;
use super::reap::reap;
use super::wall::Held;

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
    pub(super) status: Status,
    pub(super) held: Held,
    /// The end of the tree, already known if the program was not started.
    pub(super) gone: Option<Gone>,
    pub(super) stop: Stop,
}

impl Process {
    /// Returns a handle that ends the program early.
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// Returns the parts of the wall that are really enforced.
    pub const fn held(&self) -> Held {
        self.held
    }

    /// Returns whether the program was not started because its wall could not be set up.
    pub(super) fn is_without_wall(&self) -> bool {
        let program = self.gone.map(|gone| gone.program);
        program == Some(Program::NotStarted(NotStarted::NoWall))
    }

    /// Returns the standard input of the program, if it was launched with [`Input::Taken`].
    /// Dropping it ends the input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        match self.launch.input {
            Input::Taken => self.guard.stdin.take(),
            Input::Nothing | Input::Inherit | Input::Own(_) | Input::Bytes(_) => None,
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
    pub async fn wait(mut self) -> Ended {
        let flow = Flow::within(self.launch.output_bytes_max);
        let feeding = feed(self.guard.stdin.take(), std::mem::take(&mut self.launch.input));
        let streams = streams(&mut self.launch, &mut self.guard, &flow);
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
                passed = deadlines.passed(self.started, &flow), if timed_out.is_none() => {
                    timed_out = Some(passed);
                    self.stop.stop();
                }
                report = self.status.next() => match report {
                    Some(Report::Gone(report)) => gone = Some(report),
                    Some(Report::Started(_) | Report::Refused(_)) => {}
                    None => break,
                },
            }
        }
        let how = match gone {
            Some(gone) => how(gone, timed_out),
            None => self.lost().await,
        };
        while flowing {
            let before = flow.last_byte();
            let ended = timeout(STREAM_END_MAX, &mut streams).await.is_ok();
            flowing = !ended && flow.last_byte() != before;
        }
        self.guard.dismiss().await;
        Ended {
            how,
            output: flow.take(),
            duration: self.started.elapsed(),
            leftovers_ended: gone.map_or(0, |gone| gone.leftovers),
        }
    }

    /// Waits until no process of the program is left, and ends it if `stop` is canceled.
    pub async fn wait_unless(self, stop: &CancellationToken) -> Ended {
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
    async fn lost(&self) -> How {
        let lock = self.launch.lock.clone();
        let reaped = tokio::task::spawn_blocking(move || reap(&lock, LOST_PATIENCE).is_ok());
        How::Lost { tree_gone: reaped.await.unwrap_or(false) }
    }
}

/// Ends the program even if a [`Stop`] is still held elsewhere.
impl Drop for Process {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn how(gone: Gone, timed_out: Option<(Deadline, Duration)>) -> How {
    match (gone.program, timed_out) {
        (Program::NotStarted(reason), _) => How::NotStarted(reason),
        (_, Some((which, limit))) if gone.stopped => How::TimedOut { which, limit },
        (_, None) if gone.stopped => How::Stopped,
        // The program ended by itself just before it was stopped.
        (Program::Exited(status), _) => How::Exited(status),
        (Program::Signalled(signal), _) => How::Signalled(signal),
        (Program::TooMany(allowed), _) => How::TooMany { allowed },
    }
}

/// Returns the future that handles the program's output until its end.
fn streams<'flow>(
    launch: &mut Launch,
    guard: &mut GuardChild,
    flow: &'flow Flow,
) -> impl Future<Output = ()> + use<'flow> {
    let stdout = guard.stdout.take();
    let stderr = guard.stderr.take();
    let output = std::mem::take(&mut launch.output);
    async move {
        if let Output::Log(log) = &output {
            let opened = log.open();
            let opened = opened.as_ref();
            tokio::join!(
                flow.keep(stdout, opened, log.stream()),
                flow.keep(stderr, opened, log.stream())
            );
            return;
        }
        let passes = matches!(output, Output::PassThrough);
        let to_stdout = passes.then(tokio::io::stdout);
        let to_stderr = passes.then(tokio::io::stderr);
        tokio::join!(flow.copy(stdout, to_stdout), flow.copy(stderr, to_stderr));
    }
}

/// Feeds the input to a program, which may end without reading all of it.
async fn feed(stdin: Option<ChildStdin>, input: Input) {
    match (stdin, input) {
        (Some(mut stdin), Input::Bytes(bytes)) => {
            let _ = stdin.write_all(&bytes).await;
        }
        (Some(stdin), Input::Own(own)) => own.feed(stdin).await,
        _ => {}
    }
}

/// A handle that ends a program and all processes that it has started.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Mutex<Option<Sender>>>);

impl Stop {
    pub(super) fn closing(control: Sender) -> Self {
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
pub(super) struct Status {
    pipe: BufReader<Receiver>,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
}

impl Status {
    pub(super) fn reading(pipe: PipeReader) -> io::Result<Self> {
        let pipe = BufReader::new(Receiver::from_owned_fd(OwnedFd::from(pipe))?);
        Ok(Self { pipe, line: Vec::new() })
    }

    /// Returns the next report; `None` if the guard is gone.
    pub(super) async fn next(&mut self) -> Option<Report> {
        self.pipe.read_until(b'\n', &mut self.line).await.ok()?;
        serde_json::from_slice(&std::mem::take(&mut self.line)).ok()
    }
}
