//! A run of an agent program: passes its output to a conversation line by line and the responses
//! back, while it watches deadlines and the request to stop.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::closed::{EarlyExit, ProgramRunEnd};
use super::start::HomeInitLock;
use super::stream::LineSplitter;
use crate::agent::{Activity, AttemptLimits};
use crate::process::{Deadline, Launch, OutputExcerpt, ProcessResult, ProcessStopper};

/// Size of a read from the standard output: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1_024;
/// Size of a read from the standard error.
const ASIDE_BYTES: usize = 4 * 1_024;
/// Time for the stream to end. Once the tree is gone it ends at once, unless a process out of reach
/// holds it.
const STREAM_END_MAX: Duration = Duration::from_secs(2);

/// The dialog with one program, in its own wire format. Does no I/O.
pub(in crate::provider) trait ProgramDialog: Send {
    fn first_input(&mut self) -> Vec<u8>;
    /// Handles a line of its standard output.
    fn on_line(&mut self, line: &[u8], heard: &mut LineEffects);
    /// Handles a line of its standard error.
    fn on_stderr_line(&mut self, _line: &[u8]) {}
    /// Returns whether more input may follow; otherwise the input is closed.
    fn has_more_input(&self) -> bool;
    /// Returns whether a tool of the program is running, which suspends the idle deadline.
    fn is_tool_running(&self) -> bool;
    /// Returns whether the conversation has ended.
    fn is_over(&self) -> bool;
    /// Returns the time that the program has to end by itself after the conversation.
    fn linger_time(&self) -> Duration;
    /// Returns the maximum wait of the program for its service, if it is waiting.
    fn service_wait_max(&self) -> Option<Duration> {
        None
    }
    /// Ends the conversation after that wait.
    fn give_up_waiting(&mut self) {}
}

#[derive(Debug, Default)]
pub(in crate::provider) struct LineEffects {
    /// The activities to pass on.
    pub(in crate::provider) activities: VecDeque<Activity>,
    /// The input to send to the program.
    pub(in crate::provider) reply: Vec<u8>,
}

#[derive(Debug)]
pub(in crate::provider) struct ProgramRun {
    pub(in crate::provider) launch: Launch,
    pub(in crate::provider) limits: AttemptLimits,
    pub(in crate::provider) tell: mpsc::Sender<Activity>,
    pub(in crate::provider) stop: CancellationToken,
    /// The lock on a home that this program has to initialize, which no other may do at the same
    /// time.
    pub(in crate::provider) first: Option<HomeInitLock>,
}

impl ProgramRun {
    /// Runs the program until no process of it is left.
    pub(in crate::provider) async fn run_dialog(
        self,
        conversation: &mut dyn ProgramDialog,
    ) -> ProgramRunEnd {
        if self.stop.is_cancelled() {
            return ProgramRunEnd::Stopped;
        }
        let complaint_bytes_max = self.launch.output_bytes_max;
        let mut process = match self.launch.start().await {
            Ok(process) => process,
            Err(fault) => return ProgramRunEnd::NotStarted(Box::new(fault)),
        };
        let now = Instant::now();
        let complaint = OutputExcerpt::with_limit(complaint_bytes_max);
        let talk = DialogLoop {
            heard: LineEffects { reply: conversation.first_input(), ..LineEffects::default() },
            conversation,
            limits: self.limits,
            stopper: process.stopper(),
            stdin: process.take_stdin(),
            stdout: process.take_stdout(),
            stderr: process.take_stderr(),
            lines: LineSplitter::default(),
            asides: LineSplitter::default(),
            complaint,
            started: now,
            last_sign: now,
            any_line: false,
            first: self.first,
            cause: None,
            over_since: None,
            gone: None,
            discards: false,
            ending: false,
        };
        talk.run(process.wait(), self.tell, self.stop).await
    }
}

struct DialogLoop<'a> {
    conversation: &'a mut dyn ProgramDialog,
    limits: AttemptLimits,
    stopper: ProcessStopper,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    lines: LineSplitter,
    asides: LineSplitter,
    /// The kept part of its standard error.
    complaint: OutputExcerpt,
    heard: LineEffects,
    started: Instant,
    last_sign: Instant,
    any_line: bool,
    first: Option<HomeInitLock>,
    /// The reason for which the run ends, once that is decided.
    cause: Option<ProgramRunEnd>,
    over_since: Option<Instant>,
    gone: Option<(ProcessResult, Instant)>,
    /// `true` if activities are no longer wanted.
    discards: bool,
    /// `true` if the program was told to end.
    ending: bool,
}

/// An event at a point in time, unless another one comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DialogTimer {
    /// A deadline passes.
    Passed(Deadline, Duration),
    /// The maximum wait for its service is over.
    Waited,
    /// The program's time to end by itself is over.
    Lingered,
    /// The stream's time to end is over.
    StreamEnd,
}

impl DialogLoop<'_> {
    async fn run(
        mut self,
        waiting: impl Future<Output = ProcessResult>,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> ProgramRunEnd {
        tokio::pin!(waiting);
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut aside = vec![0; ASIDE_BYTES];
        while self.is_running() {
            self.close_stdin();
            let due = self.next_timer();
            tokio::select! {
                biased;
                () = stop.cancelled(), if !self.ending => self.end_program(ProgramRunEnd::Stopped),
                due = wait_for_timer(due) => self.on_timer(due),
                permit = tell.reserve(), if !self.heard.activities.is_empty() => {
                    let activity = self.heard.activities.pop_front();
                    self.last_sign = Instant::now();
                    match (permit, activity) {
                        (Ok(permit), Some(activity)) => permit.send(activity),
                        _ => self.discard_activities(),
                    }
                }
                written = write_input(&mut self.stdin, &self.heard.reply), if self.has_to_write() => {
                    self.on_written(written.unwrap_or_default());
                }
                read = read_chunk(&mut self.stdout, &mut chunk), if self.can_read() => {
                    self.on_read(&chunk[..read.unwrap_or_default()]);
                }
                read = read_chunk(&mut self.stderr, &mut aside), if self.stderr.is_some() => {
                    self.on_stderr(&aside[..read.unwrap_or_default()]);
                }
                ended = &mut waiting, if self.gone.is_none() => {
                    self.gone = Some((ended, Instant::now()));
                }
            }
        }
        self.into_run_end()
    }

    fn is_running(&self) -> bool {
        let reading = self.stdout.is_some() || self.stderr.is_some();
        self.gone.is_none() || reading || !self.heard.activities.is_empty()
    }

    fn into_run_end(self) -> ProgramRunEnd {
        match (self.cause, self.gone) {
            (Some(cause), _) => cause,
            (None, Some((ended, _))) => ProgramRunEnd::Ended(EarlyExit {
                how: ended.how,
                heard: self.any_line,
                complaint: String::from_utf8_lossy(&self.complaint.to_bytes()).into_owned(),
            }),
            // The loop ends only when the program is gone.
            (None, None) => ProgramRunEnd::Stopped,
        }
    }

    fn has_to_write(&self) -> bool {
        self.stdin.is_some() && !self.heard.reply.is_empty()
    }

    /// Returns whether more output may be read. Activities are passed on first: a slow receiver
    /// slows the program down instead of filling the memory.
    fn can_read(&self) -> bool {
        self.stdout.is_some() && self.heard.activities.is_empty()
    }

    fn close_stdin(&mut self) {
        let done = self.heard.reply.is_empty() && !self.conversation.has_more_input();
        if done || self.over_since.is_some() || self.cause.is_some() {
            self.stdin = None;
        }
    }

    fn on_written(&mut self, length: usize) {
        self.heard.reply.drain(..length);
        if length == 0 {
            // The program does not read its input; the way it ends tells why.
            self.stdin = None;
        }
    }

    /// Handles a read from the standard output; no bytes mean the end of the stream.
    fn on_read(&mut self, bytes: &[u8]) {
        self.last_sign = Instant::now();
        let conversation = &mut *self.conversation;
        let heard = &mut self.heard;
        let any_line = &mut self.any_line;
        let first = &mut self.first;
        let each = |line: &[u8]| {
            if !line.trim_ascii().is_empty() {
                *any_line = true;
                if let Some(first) = first.take() {
                    first.mark_initialized();
                }
                conversation.on_line(line, heard);
            }
        };
        if bytes.is_empty() {
            self.lines.finish(each);
            self.stdout = None;
        } else {
            self.lines.push(bytes, each);
        }
        if self.discards {
            self.heard.activities.clear();
        }
        self.check_over();
    }

    /// Handles a read from the standard error; no bytes mean its end. It does not count as a sign
    /// of life.
    fn on_stderr(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.stderr = None;
            return;
        }
        self.complaint.push(bytes);
        let conversation = &mut *self.conversation;
        self.asides.push(bytes, |line| conversation.on_stderr_line(line));
        self.check_over();
    }

    fn check_over(&mut self) {
        if self.conversation.is_over() && self.cause.is_none() {
            self.cause = Some(ProgramRunEnd::Over);
            self.over_since = Some(Instant::now());
        }
    }

    fn on_timer(&mut self, due: DialogTimer) {
        match due {
            DialogTimer::Passed(which, limit) => {
                self.end_program(ProgramRunEnd::TimedOut { which, limit });
            }
            DialogTimer::Waited => {
                self.conversation.give_up_waiting();
                self.check_over();
            }
            DialogTimer::Lingered => {
                self.over_since = None;
                self.stopper.stop();
            }
            DialogTimer::StreamEnd => (self.stdout, self.stderr) = (None, None),
        }
    }

    /// Ends the program for a reason of Unstuck's; later output does not count.
    fn end_program(&mut self, cause: ProgramRunEnd) {
        self.cause.get_or_insert(cause);
        self.ending = true;
        self.discard_activities();
        self.stopper.stop();
    }

    fn discard_activities(&mut self) {
        self.discards = true;
        self.heard.activities.clear();
    }

    fn next_timer(&self) -> Option<(Instant, DialogTimer)> {
        if let Some((_, since)) = &self.gone {
            let reading = self.heard.activities.is_empty();
            return reading.then_some((*since + STREAM_END_MAX, DialogTimer::StreamEnd));
        }
        if let Some(since) = self.over_since {
            return Some((since + self.conversation.linger_time(), DialogTimer::Lingered));
        }
        if self.cause.is_some() {
            return None;
        }
        if let Some(most) = self.conversation.service_wait_max() {
            return Some((self.last_sign + most, DialogTimer::Waited));
        }
        let due = |which, from: Instant, limit| {
            Some((from.checked_add(limit)?, DialogTimer::Passed(which, limit)))
        };
        let quiet = if self.conversation.is_tool_running() || !self.heard.activities.is_empty() {
            None
        } else if self.any_line {
            due(Deadline::Idle, self.last_sign, self.limits.idle)
        } else {
            due(Deadline::FirstByte, self.started, self.limits.first_byte)
        };
        let total = due(Deadline::Total, self.started, self.limits.total);
        [quiet, total].into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}

async fn wait_for_timer(due: Option<(Instant, DialogTimer)>) -> DialogTimer {
    match due {
        Some((at, due)) => {
            sleep_until(at).await;
            due
        }
        None => std::future::pending().await,
    }
}

async fn read_chunk(
    stream: &mut Option<impl AsyncRead + Unpin>,
    chunk: &mut [u8],
) -> io::Result<usize> {
    match stream {
        Some(stream) => stream.read(chunk).await,
        None => std::future::pending().await,
    }
}

async fn write_input(stdin: &mut Option<ChildStdin>, bytes: &[u8]) -> io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(bytes).await,
        None => std::future::pending().await,
    }
}
