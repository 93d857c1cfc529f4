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

/// With the tree gone the streams end at once. If one does not, something that the guard could not
/// know of holds it, and nothing of ours is in it any more.
const STREAM_END_MAX: Duration = Duration::from_secs(2);

/// How long we look for the processes of a guard that was killed.
const LOST_PATIENCE: Duration = Duration::from_secs(10);

/// A running program. Dropping it ends the program and all it has started.
#[derive(Debug)]
pub struct Process {
    pub(super) launch: Launch,
    pub(super) started: Instant,
    pub(super) guard: GuardChild,
    pub(super) status: Status,
    pub(super) held: Held,
    /// Already known when it did not start.
    pub(super) gone: Option<Gone>,
    pub(super) stop: Stop,
}

impl Process {
    /// What ends it before its time.
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// What really keeps it in.
    pub const fn held(&self) -> Held {
        self.held
    }

    /// Whether it was not started for want of its wall.
    pub(super) fn is_without_wall(&self) -> bool {
        let program = self.gone.map(|gone| gone.program);
        program == Some(Program::NotStarted(NotStarted::NoWall))
    }

    /// What it reads, where that was to be taken. Its input ends when this is dropped.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        match self.launch.input {
            Input::Taken => self.guard.stdin.take(),
            Input::Nothing | Input::Inherit | Input::Own(_) | Input::Bytes(_) => None,
        }
    }

    /// What it writes to its standard output. From here on that is neither kept nor passed on, and
    /// it moves no deadline: all of that is the taker's business.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.guard.stdout.take()
    }

    /// What it writes to its standard error, in the same way.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.guard.stderr.take()
    }

    /// Waits until nothing of it is left. Its deadlines count and its output flows only while
    /// somebody waits.
    pub async fn wait(mut self) -> Ended {
        let flow = Flow::within(self.launch.output_bytes_max);
        let feeding = feed(self.guard.stdin.take(), std::mem::take(&mut self.launch.input));
        let streams = streams(&mut self.launch, &mut self.guard, &flow);
        tokio::pin!(feeding, streams);
        let (mut fed, mut flowing, mut gone, mut timed_out) = (false, true, self.gone, None);
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

    /// Waits until nothing of it is left, and ends it when told to.
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

    /// The guard was killed. What it kept goes on, so it is looked for and ended.
    async fn lost(&self) -> How {
        let lock = self.launch.lock.clone();
        let reaped = tokio::task::spawn_blocking(move || reap(&lock, LOST_PATIENCE).is_ok());
        How::Lost { tree_gone: reaped.await.unwrap_or(false) }
    }
}

/// Ends the program also when somebody still holds a [`Stop`].
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
        // It ended by itself, if only just.
        (Program::Exited(status), _) => How::Exited(status),
        (Program::Signalled(signal), _) => How::Signalled(signal),
        (Program::TooMany(allowed), _) => How::TooMany { allowed },
    }
}

/// All that flows from the program, until it has ended.
fn streams<'flow>(
    launch: &mut Launch,
    guard: &mut GuardChild,
    flow: &'flow Flow,
) -> impl Future<Output = ()> + use<'flow> {
    let (stdout, stderr) = (guard.stdout.take(), guard.stderr.take());
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

/// A program may well end without having read everything.
async fn feed(stdin: Option<ChildStdin>, input: Input) {
    match (stdin, input) {
        (Some(mut stdin), Input::Bytes(bytes)) => {
            let _ = stdin.write_all(&bytes).await;
        }
        (Some(stdin), Input::Own(own)) => own.feed(stdin).await,
        _ => {}
    }
}

/// Ends a program and all it has started.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Mutex<Option<Sender>>>);

impl Stop {
    pub(super) fn closing(control: Sender) -> Self {
        Self(Arc::new(Mutex::new(Some(control))))
    }

    /// Ends it, once; more often does no harm. It has ended when waiting for it returns.
    ///
    /// The guard hears a word and gives the program its time. The end of the pipe without one is our
    /// own end, after which nothing is given any time.
    pub fn stop(&self) {
        let mut control = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if control.as_ref().is_some_and(|control| control.try_write(&[guard::END]).is_err()) {
            control.take();
        }
    }
}

/// The lines that the guard reports.
#[derive(Debug)]
pub(super) struct Status {
    pipe: BufReader<Receiver>,
    /// What has arrived of the next line.
    line: Vec<u8>,
}

impl Status {
    pub(super) fn reading(pipe: PipeReader) -> io::Result<Self> {
        let pipe = BufReader::new(Receiver::from_owned_fd(OwnedFd::from(pipe))?);
        Ok(Self { pipe, line: Vec::new() })
    }

    /// The next report; none when the guard is gone.
    pub(super) async fn next(&mut self) -> Option<Report> {
        self.pipe.read_until(b'\n', &mut self.line).await.ok()?;
        serde_json::from_slice(&std::mem::take(&mut self.line)).ok()
    }
}
