//! The output of a program: passed on, kept within a limit, and logged without secrets.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::Instant;

use crate::redact::{RedactionStream, Redactor};

/// Size of a read: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1_024;

/// Divisor for the share of the beginning in the kept output; the larger rest is the end, which
/// says why it failed.
const HEAD_SHARE: usize = 4;

/// The beginning and the end of an output, with both streams in the order of arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputExcerpt {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped_bytes: u64,
    head_bytes_max: usize,
    tail_bytes_max: usize,
}

impl OutputExcerpt {
    /// Creates an empty buffer that keeps at most `output_bytes_max` bytes.
    pub fn with_limit(output_bytes_max: usize) -> Self {
        let head_bytes_max = output_bytes_max / HEAD_SHARE;
        let tail_bytes_max = output_bytes_max - head_bytes_max;
        Self { head_bytes_max, tail_bytes_max, ..Self::default() }
    }

    /// Returns the number of bytes dropped from the middle.
    pub const fn dropped_bytes(&self) -> u64 {
        self.dropped_bytes
    }

    /// Returns whether there was no output at all.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty() && self.dropped_bytes == 0
    }

    /// Returns the kept output. A gap is shown as a line of its own.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (tail, rest) = self.tail.as_slices();
        if self.dropped_bytes == 0 {
            return [&self.head, tail, rest].concat();
        }
        let gap = format!("\n[… {} bytes left out …]\n", self.dropped_bytes);
        [&self.head, gap.as_bytes(), tail, rest].concat()
    }

    /// Appends the next output.
    pub fn push(&mut self, bytes: &[u8]) {
        let to_head = bytes.len().min(self.head_bytes_max - self.head.len());
        self.head.extend_from_slice(&bytes[..to_head]);
        let rest = &bytes[to_head..];
        let last = &rest[rest.len() - rest.len().min(self.tail_bytes_max)..];
        let over = (self.tail.len() + last.len()).saturating_sub(self.tail_bytes_max);
        self.tail.drain(..over);
        self.tail.extend(last);
        self.dropped_bytes += (rest.len() - last.len() + over) as u64;
    }
}

/// Returns the end of a text in whole lines, at most `bytes_max` bytes of it: programs say there
/// what went wrong, and a text that is recorded more than once need not be complete.
pub(crate) fn last_lines(text: &str, bytes_max: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    let end = &text[from..];
    let line = if from == 0 { 0 } else { end.find('\n').map_or(0, |at| at + 1) };
    end[line..].trim_end()
}

/// The output of a running program, shared by its two streams and its deadlines.
#[derive(Debug)]
pub(super) struct OutputFlow(Mutex<OutputFlowState>);

#[derive(Debug)]
struct OutputFlowState {
    kept: OutputExcerpt,
    last_byte: Option<Instant>,
    /// Number of streams that wait for the reader of this process's own output.
    held_up: u32,
    /// The pipe of standard output while it is read, which tells how much waits in it.
    pipe: Option<OwnedFd>,
    /// Number of bytes read from standard output.
    read: u64,
    /// Errors that were written after output that has not been read yet, each with the number of
    /// bytes of standard output before it.
    late: VecDeque<(u64, Vec<u8>)>,
    /// Why output could not be passed on, if that is no reader that went away.
    lost: Option<String>,
}

/// The stream of a program from which a chunk comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputStream {
    Out,
    Err,
}

/// Maximum number of chunks of errors that wait for earlier output.
const LATE_MAX: usize = 64;

impl OutputFlowState {
    /// Keeps a chunk. What a program writes last says why it failed, so errors are kept after the
    /// output that was written before them.
    fn keep_chunk(&mut self, stream: OutputStream, chunk: &[u8]) {
        match stream {
            OutputStream::Out => {
                self.kept.push(chunk);
                self.read += chunk.len() as u64;
                self.release_late(self.read);
            }
            OutputStream::Err => {
                let waiting =
                    self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
                let waiting = waiting.unwrap_or(0);
                if waiting == 0 && self.late.is_empty() {
                    self.kept.push(chunk);
                    return;
                }
                self.late.push_back((self.read + waiting, chunk.to_vec()));
                if self.late.len() > LATE_MAX {
                    self.release_late(u64::MAX);
                }
            }
        }
    }

    /// Keeps the errors before which at most `read` bytes of output were written.
    fn release_late(&mut self, read: u64) {
        while let Some((_, chunk)) = self.late.pop_front_if(|(due, _)| *due <= read) {
            self.kept.push(&chunk);
        }
    }

    /// Ends standard output: nothing more comes before the errors that wait.
    fn end_output(&mut self) {
        self.pipe = None;
        self.release_late(u64::MAX);
    }
}

impl OutputFlow {
    pub(super) fn with_limit(output_bytes_max: usize) -> Self {
        let kept = OutputExcerpt::with_limit(output_bytes_max);
        let state = OutputFlowState {
            kept,
            last_byte: None,
            held_up: 0,
            pipe: None,
            read: 0,
            late: VecDeque::new(),
            lost: None,
        };
        Self(Mutex::new(state))
    }

    /// Notes the pipe of standard output, by which the errors find their place.
    pub(super) fn note_pipe(&self, pipe: Option<&impl AsFd>) {
        self.lock_state().pipe = pipe.and_then(|pipe| pipe.as_fd().try_clone_to_owned().ok());
    }

    /// Returns the time of the last output. While the reader of this process's own output blocks,
    /// the program cannot write, which is not its fault: then the time is now.
    pub(super) fn last_byte_at(&self) -> Option<Instant> {
        let flowing = self.lock_state();
        if flowing.held_up > 0 { Some(Instant::now()) } else { flowing.last_byte }
    }

    /// Takes the output kept so far; further output is dropped.
    pub(super) fn take_output(&self) -> OutputExcerpt {
        let mut flowing = self.lock_state();
        flowing.release_late(u64::MAX);
        std::mem::take(&mut flowing.kept)
    }

    /// Returns why output could not be passed on.
    pub(super) fn find_lost_output(&self) -> Option<String> {
        self.lock_state().lost.clone()
    }

    /// Keeps the output of `from` and passes it on to `to`, until one of them ends.
    ///
    /// A destination that was closed ends the copy: the program then gets a broken pipe, as it
    /// would without Unstuck in between. One that cannot be written to, on a full disk for example,
    /// does not end the program in the middle of its work.
    pub(super) async fn copy_output<R, W>(
        &self,
        stream: OutputStream,
        from: Option<R>,
        mut to: Option<W>,
    ) where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let _end = StreamEnd { flow: self, stream };
        let Some(mut from) = from else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(length @ 1..) = from.read(&mut chunk).await {
            let chunk = &chunk[..length];
            self.record_chunk(stream, chunk, to.is_some());
            let Some(open) = &mut to else { continue };
            let passed = async {
                open.write_all(chunk).await?;
                open.flush().await
            };
            let passed = passed.await;
            self.record_pass();
            match passed {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return,
                Err(error) => {
                    self.lock_state().lost = Some(error.to_string());
                    to = None;
                }
            }
        }
    }

    /// Keeps the output of `from`, and writes it to a log without its secrets.
    pub(super) async fn log_output<R>(
        &self,
        stream: OutputStream,
        from: Option<R>,
        to: Option<&OpenLog>,
        mut clean: RedactionStream<'_>,
    ) where
        R: AsyncRead + Unpin,
    {
        let _end = StreamEnd { flow: self, stream };
        let Some(mut from) = from else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        let write = |bytes: &[u8]| to.into_iter().for_each(|to| to.write_clean(bytes));
        while let Ok(length @ 1..) = from.read(&mut chunk).await {
            let chunk = &chunk[..length];
            self.record_chunk(stream, chunk, false);
            write(&clean.push(chunk));
        }
        write(&clean.finish());
    }

    fn record_chunk(&self, stream: OutputStream, chunk: &[u8], to_be_passed_on: bool) {
        let mut flowing = self.lock_state();
        flowing.keep_chunk(stream, chunk);
        flowing.last_byte = Some(Instant::now());
        flowing.held_up += u32::from(to_be_passed_on);
    }

    fn record_pass(&self) {
        let mut flowing = self.lock_state();
        flowing.last_byte = Some(Instant::now());
        flowing.held_up -= 1;
    }

    fn lock_state(&self) -> MutexGuard<'_, OutputFlowState> {
        // No code panics between changes, so a poisoned value is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes the end of a stream. The reading end of standard output must not stay open: the program
/// would never get a broken pipe.
struct StreamEnd<'a> {
    flow: &'a OutputFlow,
    stream: OutputStream,
}

impl Drop for StreamEnd<'_> {
    fn drop(&mut self) {
        if self.stream == OutputStream::Out {
            self.flow.lock_state().end_output();
        }
    }
}

/// The destination and the limits of a log.
#[derive(Clone, Debug)]
pub struct ProcessLog {
    /// The path of the file. Output is appended to its content.
    pub path: PathBuf,
    /// The redactor that removes secrets.
    pub redactor: Arc<Redactor>,
    /// Maximum size of the file in bytes.
    pub bytes_max: u64,
}

/// The notice that is written once when the limit of a log is reached.
const LOG_FULL: &[u8] = b"\n[... the rest is left out: the file is full ...]\n";

impl ProcessLog {
    /// Opens the file; returns `None` if that fails, because a missing log is no reason not to run.
    pub(super) fn open(&self) -> Option<OpenLog> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&self.path);
        let file = file.and_then(|file| {
            let left = self.bytes_max.saturating_sub(file.metadata()?.len());
            Ok(OpenLog(Mutex::new(OpenLogFile { file, left })))
        });
        file.ok()
    }
}

/// The open file, which both streams of a program share.
#[derive(Debug)]
pub(super) struct OpenLog(Mutex<OpenLogFile>);

#[derive(Debug)]
struct OpenLogFile {
    file: File,
    left: u64,
}

impl OpenLog {
    pub(super) fn write_clean(&self, clean: &[u8]) {
        // No code panics between changes, so a poisoned value is consistent.
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.left == 0 {
            return;
        }
        let length = u64::try_from(clean.len()).unwrap_or(u64::MAX);
        let kept = usize::try_from(length.min(open.left)).unwrap_or(usize::MAX);
        open.left = open.left.saturating_sub(length);
        // A full disk is not the program's fault.
        let _ = open.file.write_all(&clean[..kept]);
        if open.left == 0 {
            let _ = open.file.write_all(LOG_FULL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes_max: usize, writes: &[&[u8]]) -> (String, u64) {
        let mut kept = OutputExcerpt::with_limit(bytes_max);
        for bytes in writes {
            kept.push(bytes);
        }
        (String::from_utf8(kept.to_bytes()).unwrap(), kept.dropped_bytes())
    }

    #[test]
    fn errors_come_after_the_output_that_was_written_before_them() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let flow = OutputFlow::with_limit(1_000);
        flow.note_pipe(Some(&reader));
        rustix::io::write(&writer, b"row 1\nrow 2\n").unwrap();
        flow.record_chunk(OutputStream::Err, b"bad row\n", false);
        let mut chunk = [0; 6];
        for _ in 0..2 {
            rustix::io::read(&reader, &mut chunk).unwrap();
            flow.record_chunk(OutputStream::Out, &chunk, false);
        }
        flow.record_chunk(OutputStream::Err, b"end\n", false);
        let kept = flow.take_output().to_bytes();
        assert_eq!(String::from_utf8(kept).unwrap(), "row 1\nrow 2\nbad row\nend\n");
    }

    #[test]
    fn the_last_whole_lines_are_the_end_of_a_text() {
        assert_eq!(last_lines("one\ntwo\n", 10), "one\ntwo");
        let long = (0..1_000).map(|n| format!("line {n} é\n")).collect::<Vec<_>>().concat();
        let end = last_lines(&long, 100);
        assert!(end.len() <= 100 && end.starts_with("line "), "{end}");
        assert!(end.ends_with("line 999 é"));
        assert_eq!(last_lines(&"é".repeat(100), 100).len(), 100);
    }

    #[test]
    fn the_beginning_and_the_end_are_kept_and_the_middle_is_counted() {
        assert_eq!(kept(8, &[b"ab", b"cdefgh"]), ("abcdefgh".to_owned(), 0));
        let gap = |head: &str, bytes: u64, tail: &str| {
            (format!("{head}\n[… {bytes} bytes left out …]\n{tail}"), bytes)
        };
        assert_eq!(kept(8, &[b"abcdefghi"]), gap("ab", 1, "defghi"));
        assert_eq!(kept(8, &[b"a", b"b", b"c", b"defg", b"hijklm"]), gap("ab", 5, "hijklm"));
        assert_eq!(kept(8, &[b"abc", b"0123456789"]), gap("ab", 5, "456789"));
        assert_eq!(kept(0, &[b"abc"]), gap("", 3, ""));
    }
}
