//! The standard input of this process, for a program that may be retried: every attempt reads it
//! from the beginning.
//!
//! A file is rewound to its initial position. Input from a pipe is kept while it is read, and given
//! to the next attempt before the rest. More than [`KEPT_BYTES_MAX`] is not kept, and rules out
//! another attempt. A terminal is read as it is.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;

use rustix::fs::{FileType, OFlags, SeekFrom, fstat, seek};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::ChildStdin;
use tokio::sync::Mutex;
use unstuck_core::fault::{Fault, Missing};

/// Maximum number of bytes from a pipe that are kept for another attempt.
const KEPT_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// Number of bytes to pass on at once.
const CHUNK_BYTES: usize = 64 * 1_024;

/// The standard input of this process. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct OwnInput(Arc<OwnInputKind>);

#[derive(Debug, Default)]
enum OwnInputKind {
    /// A terminal, or another input without a beginning.
    #[default]
    Same,
    /// A file, from this position on.
    File {
        start: u64,
    },
    Pipe(Mutex<PipedInput>),
}

/// The input from a pipe so far.
#[derive(Debug, Default)]
struct PipedInput {
    /// The pipe, until the first read.
    pipe: Option<File>,
    source: Option<Receiver>,
    kept: Vec<u8>,
    /// `true` at the end of the input.
    is_over: bool,
    /// `true` if the input exceeded the limit and is no longer kept.
    is_lost: bool,
}

impl OwnInput {
    /// Returns the standard input of this process.
    pub fn from_this_process() -> Self {
        let stdin = io::stdin();
        let kind = fstat(stdin.as_fd()).map(|found| FileType::from_raw_mode(found.st_mode));
        Self(Arc::new(match kind {
            Ok(FileType::Fifo) => match open_pipe() {
                Ok(pipe) => OwnInputKind::Pipe(Mutex::new(PipedInput {
                    pipe: Some(pipe),
                    ..PipedInput::default()
                })),
                // It belongs to another user, and can only be inherited.
                Err(_) => OwnInputKind::Same,
            },
            Ok(FileType::RegularFile) => match seek(stdin.as_fd(), SeekFrom::Current(0)) {
                Ok(start) => OwnInputKind::File { start },
                Err(_) => OwnInputKind::Same,
            },
            _ => OwnInputKind::Same,
        }))
    }

    /// Returns whether this process reads the input and passes it on.
    pub fn is_passed_on(&self) -> bool {
        matches!(*self.0, OwnInputKind::Pipe(_))
    }

    /// Ensures that the next program reads the input from the beginning; fails if that is
    /// impossible.
    pub async fn begin_anew(&self) -> Result<(), Fault> {
        match &*self.0 {
            OwnInputKind::File { start } => {
                let set_back = seek(io::stdin().as_fd(), SeekFrom::Start(*start));
                set_back
                    .map(drop)
                    .map_err(|error| lost_input_fault(&format!("it cannot be set back: {error}")))
            }
            OwnInputKind::Pipe(piped) if piped.lock().await.is_lost => {
                Err(lost_input_fault("more than 16 MB came through a pipe"))
            }
            OwnInputKind::Same | OwnInputKind::Pipe(_) => Ok(()),
        }
    }

    /// Passes the input to a program, from its beginning to its end.
    pub(super) async fn feed_program(&self, mut program: ChildStdin) {
        let OwnInputKind::Pipe(piped) = &*self.0 else { return };
        let mut at = 0;
        loop {
            // An unreadable pipe counts as ended.
            let chunk = piped.lock().await.next_chunk(at).await.unwrap_or_default();
            at += chunk.len();
            // A program may end without reading all of its input.
            if chunk.is_empty() || program.write_all(&chunk).await.is_err() {
                return;
            }
        }
    }
}

impl PipedInput {
    /// Returns the chunk at this position, reading it if necessary; empty at the end of the input.
    async fn next_chunk(&mut self, at: usize) -> io::Result<Vec<u8>> {
        let kept = self.kept.get(at..).unwrap_or_default();
        if !kept.is_empty() || self.is_over {
            return Ok(kept[..kept.len().min(CHUNK_BYTES)].to_vec());
        }
        let mut chunk = vec![0; CHUNK_BYTES];
        if let Some(pipe) = self.pipe.take() {
            self.source = Some(Receiver::from_file(pipe)?);
        }
        let Some(source) = &self.source else { return Ok(Vec::new()) };
        let read = loop {
            source.readable().await?;
            match source.try_read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => break read?,
            }
        };
        chunk.truncate(read);
        self.keep_chunk(&chunk);
        Ok(chunk)
    }

    fn keep_chunk(&mut self, chunk: &[u8]) {
        self.is_over = chunk.is_empty();
        self.is_lost |= self.kept.len() + chunk.len() > KEPT_BYTES_MAX;
        if self.is_lost {
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(chunk);
        }
    }
}

/// Opens the pipe again for non-blocking reads: the existing descriptor may be shared with programs
/// that rely on its blocking reads.
fn open_pipe() -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    File::options().read(true).custom_flags(flags).open("/dev/stdin")
}

fn lost_input_fault(why: &str) -> Fault {
    let what = "its standard input from the beginning".to_owned();
    let message = format!("the command would read only the rest of its standard input: {why}");
    Fault::precondition_missing("exec", message, Missing { what })
}
