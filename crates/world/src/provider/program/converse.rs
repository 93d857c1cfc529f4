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

use super::closed::{Closed, Gone};
use super::home::FirstInHome;
use super::lines::Lines;
use crate::agent::{Activity, Limits};
use crate::process::{Deadline, Ended, Kept, Launch, Stop};

/// Size of a read from the standard output: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1_024;
/// Size of a read from the standard error.
const ASIDE_BYTES: usize = 4 * 1_024;
/// Time for the stream to end. Once the tree is gone it ends at once, unless a process out of reach
/// holds it.
const STREAM_END_MAX: Duration = Duration::from_secs(2);

/// The dialog with one program, in its own wire format. Does no I/O.
pub(in crate::provider) trait Conversation: Send {
    /// Returns the first input of the program.
    fn open(&mut self) -> Vec<u8>;
    /// Handles a line of its standard output.
    fn hear(&mut self, line: &[u8], heard: &mut Heard);
    /// Handles a line of its standard error.
    fn hear_aside(&mut self, _line: &[u8]) {}
    /// Returns whether more input may follow; otherwise the input is closed.
    fn tells_more(&self) -> bool;
    /// Returns whether a tool of the program is running, which suspends the idle deadline.
    fn tool_runs(&self) -> bool;
    /// Returns whether the conversation has ended.
    fn over(&self) -> bool;
    /// Returns the time that the program has to end by itself after the conversation.
    fn linger(&self) -> Duration;
    /// Returns the maximum wait of the program for its service, if it is waiting.
    fn waits(&self) -> Option<Duration> {
        None
    }
    /// Ends the conversation after that wait.
    fn waited(&mut self) {}
}

/// The result of handling a line.
#[derive(Debug, Default)]
pub(in crate::provider) struct Heard {
    /// The activities to pass on.
    pub(in crate::provider) activities: VecDeque<Activity>,
    /// The input to send to the program.
    pub(in crate::provider) reply: Vec<u8>,
}

/// The parameters of a run.
#[derive(Debug)]
pub(in crate::provider) struct Run {
    pub(in crate::provider) launch: Launch,
    pub(in crate::provider) limits: Limits,
    pub(in crate::provider) tell: mpsc::Sender<Activity>,
    pub(in crate::provider) stop: CancellationToken,
    /// The lock on a home that this program has to initialize, which no other may do at the same
    /// time.
    pub(in crate::provider) first: Option<FirstInHome>,
}

impl Run {
    /// Runs the program until no process of it is left.
    pub(in crate::provider) async fn with(self, conversation: &mut dyn Conversation) -> Closed {
        if self.stop.is_cancelled() {
            return Closed::Stopped;
        }
        let complaint_bytes_max = self.launch.output_bytes_max;
        let mut process = match self.launch.start().await {
            Ok(process) => process,
            Err(fault) => return Closed::NotStarted(Box::new(fault)),
        };
        let now = Instant::now();
        let complaint = Kept::within(complaint_bytes_max);
        let talk = Talk {
            heard: Heard { reply: conversation.open(), ..Heard::default() },
            conversation,
            limits: self.limits,
            stopper: process.stopper(),
            stdin: process.take_stdin(),
            stdout: process.take_stdout(),
            stderr: process.take_stderr(),
            lines: Lines::default(),
            asides: Lines::default(),
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

/// The state of a run.
struct Talk<'a> {
    conversation: &'a mut dyn Conversation,
    limits: Limits,
    stopper: Stop,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    lines: Lines,
    asides: Lines,
    /// The kept part of its standard error.
    complaint: Kept,
    heard: Heard,
    started: Instant,
    last_sign: Instant,
    any_line: bool,
    first: Option<FirstInHome>,
    /// The reason for which the run ends, once that is decided.
    cause: Option<Closed>,
    over_since: Option<Instant>,
    gone: Option<(Ended, Instant)>,
    /// `true` if activities are no longer wanted.
    discards: bool,
    /// `true` if the program was told to end.
    ending: bool,
}

/// An event at a point in time, unless another one comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// A deadline passes.
    Passed(Deadline, Duration),
    /// The maximum wait for its service is over.
    Waited,
    /// The program's time to end by itself is over.
    Lingered,
    /// The stream's time to end is over.
    StreamEnd,
}

impl Talk<'_> {
    async fn run(
        mut self,
        waiting: impl Future<Output = Ended>,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> Closed {
        tokio::pin!(waiting);
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut aside = vec![0; ASIDE_BYTES];
        while self.goes_on() {
            self.close_stdin();
            let due = self.due();
            tokio::select! {
                biased;
                () = stop.cancelled(), if !self.ending => self.end(Closed::Stopped),
                due = at(due) => self.on_due(due),
                permit = tell.reserve(), if !self.heard.activities.is_empty() => {
                    let activity = self.heard.activities.pop_front();
                    self.last_sign = Instant::now();
                    match (permit, activity) {
                        (Ok(permit), Some(activity)) => permit.send(activity),
                        _ => self.discard(),
                    }
                }
                written = write(&mut self.stdin, &self.heard.reply), if self.has_to_write() => {
                    self.on_written(written.unwrap_or_default());
                }
                read = read(&mut self.stdout, &mut chunk), if self.may_read() => {
                    self.on_read(&chunk[..read.unwrap_or_default()]);
                }
                read = read(&mut self.stderr, &mut aside), if self.stderr.is_some() => {
                    self.on_aside(&aside[..read.unwrap_or_default()]);
                }
                ended = &mut waiting, if self.gone.is_none() => {
                    self.gone = Some((ended, Instant::now()));
                }
            }
        }
        self.closed()
    }

    fn goes_on(&self) -> bool {
        let reading = self.stdout.is_some() || self.stderr.is_some();
        self.gone.is_none() || reading || !self.heard.activities.is_empty()
    }

    fn closed(self) -> Closed {
        match (self.cause, self.gone) {
            (Some(cause), _) => cause,
            (None, Some((ended, _))) => Closed::Ended(Gone {
                how: ended.how,
                heard: self.any_line,
                complaint: String::from_utf8_lossy(&self.complaint.to_bytes()).into_owned(),
            }),
            // The loop ends only when the program is gone.
            (None, None) => Closed::Stopped,
        }
    }

    fn has_to_write(&self) -> bool {
        self.stdin.is_some() && !self.heard.reply.is_empty()
    }

    /// Returns whether more output may be read. Activities are passed on first: a slow receiver
    /// slows the program down instead of filling the memory.
    fn may_read(&self) -> bool {
        self.stdout.is_some() && self.heard.activities.is_empty()
    }

    fn close_stdin(&mut self) {
        let done = self.heard.reply.is_empty() && !self.conversation.tells_more();
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
                    first.has_begun();
                }
                conversation.hear(line, heard);
            }
        };
        if bytes.is_empty() {
            self.lines.end(each);
            self.stdout = None;
        } else {
            self.lines.push(bytes, each);
        }
        if self.discards {
            self.heard.activities.clear();
        }
        self.look_whether_over();
    }

    /// Handles a read from the standard error; no bytes mean its end. It does not count as a sign
    /// of life.
    fn on_aside(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.stderr = None;
            return;
        }
        self.complaint.push(bytes);
        let conversation = &mut *self.conversation;
        self.asides.push(bytes, |line| conversation.hear_aside(line));
        self.look_whether_over();
    }

    fn look_whether_over(&mut self) {
        if self.conversation.over() && self.cause.is_none() {
            self.cause = Some(Closed::Over);
            self.over_since = Some(Instant::now());
        }
    }

    fn on_due(&mut self, due: Due) {
        match due {
            Due::Passed(which, limit) => self.end(Closed::TimedOut { which, limit }),
            Due::Waited => {
                self.conversation.waited();
                self.look_whether_over();
            }
            Due::Lingered => {
                self.over_since = None;
                self.stopper.stop();
            }
            Due::StreamEnd => (self.stdout, self.stderr) = (None, None),
        }
    }

    /// Ends the program for a reason of Unstuck's; later output does not count.
    fn end(&mut self, cause: Closed) {
        self.cause.get_or_insert(cause);
        self.ending = true;
        self.discard();
        self.stopper.stop();
    }

    fn discard(&mut self) {
        self.discards = true;
        self.heard.activities.clear();
    }

    fn due(&self) -> Option<(Instant, Due)> {
        if let Some((_, since)) = &self.gone {
            let reading = self.heard.activities.is_empty();
            return reading.then_some((*since + STREAM_END_MAX, Due::StreamEnd));
        }
        if let Some(since) = self.over_since {
            return Some((since + self.conversation.linger(), Due::Lingered));
        }
        if self.cause.is_some() {
            return None;
        }
        if let Some(most) = self.conversation.waits() {
            return Some((self.last_sign + most, Due::Waited));
        }
        let due = |which, from: Instant, limit| {
            Some((from.checked_add(limit)?, Due::Passed(which, limit)))
        };
        let quiet = if self.conversation.tool_runs() || !self.heard.activities.is_empty() {
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

async fn at(due: Option<(Instant, Due)>) -> Due {
    match due {
        Some((at, due)) => {
            sleep_until(at).await;
            due
        }
        None => std::future::pending().await,
    }
}

async fn read(stream: &mut Option<impl AsyncRead + Unpin>, chunk: &mut [u8]) -> io::Result<usize> {
    match stream {
        Some(stream) => stream.read(chunk).await,
        None => std::future::pending().await,
    }
}

async fn write(stdin: &mut Option<ChildStdin>, bytes: &[u8]) -> io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(bytes).await,
        None => std::future::pending().await,
    }
}
