//! What we read ourselves, for a program that may be started again: every try reads it from the beginning.
//!
//! A file is set back to where it was. What comes through a pipe is kept as it is read, and given to the
//! next try before what comes later. Beyond [`KEPT_BYTES_MAX`] nothing is kept, and there is no other try.
//! A terminal is read as it is.

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

/// How much of what comes through a pipe is kept for another try.
const KEPT_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// How much is passed on at once.
const CHUNK_BYTES: usize = 64 * 1_024;

/// What we read ourselves. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct OwnInput(Arc<Kind>);

#[derive(Debug, Default)]
enum Kind {
    /// A terminal, or something else that has no beginning.
    #[default]
    Same,
    /// A file, from here on.
    File { start: u64 },
    /// A pipe.
    Pipe(Mutex<Piped>),
}

/// What came through a pipe so far.
#[derive(Debug, Default)]
struct Piped {
    /// It, until it is read first.
    pipe: Option<File>,
    source: Option<Receiver>,
    kept: Vec<u8>,
    /// There is nothing more to come.
    is_over: bool,
    /// It became more than is kept.
    is_lost: bool,
}

impl OwnInput {
    /// The standard input of this process.
    pub fn of_this_process() -> Self {
        let stdin = io::stdin();
        let kind = fstat(stdin.as_fd()).map(|found| FileType::from_raw_mode(found.st_mode));
        Self(Arc::new(match kind {
            Ok(FileType::Fifo) => match open() {
                Ok(pipe) => Kind::Pipe(Mutex::new(Piped { pipe: Some(pipe), ..Piped::default() })),
                // It belongs to another user, and can only be handed on.
                Err(_) => Kind::Same,
            },
            Ok(FileType::RegularFile) => match seek(stdin.as_fd(), SeekFrom::Current(0)) {
                Ok(start) => Kind::File { start },
                Err(_) => Kind::Same,
            },
            _ => Kind::Same,
        }))
    }

    /// Whether it is read here and passed on.
    pub fn is_passed_on(&self) -> bool {
        matches!(*self.0, Kind::Pipe(_))
    }

    /// Makes sure that a program reads it from the beginning.
    pub async fn begin_anew(&self) -> Result<(), Fault> {
        match &*self.0 {
            Kind::File { start } => {
                let set_back = seek(io::stdin().as_fd(), SeekFrom::Start(*start));
                set_back.map(drop).map_err(|error| gone(&format!("it cannot be set back: {error}")))
            }
            Kind::Pipe(piped) if piped.lock().await.is_lost => {
                Err(gone("more than 16 MB came through a pipe"))
            }
            Kind::Same | Kind::Pipe(_) => Ok(()),
        }
    }

    /// Passes it on from its beginning until its end.
    pub(super) async fn feed(&self, mut program: ChildStdin) {
        let Kind::Pipe(piped) = &*self.0 else { return };
        let mut at = 0;
        loop {
            // A pipe that cannot be read has come to its end.
            let chunk = piped.lock().await.next(at).await.unwrap_or_default();
            at += chunk.len();
            // A program may well end without having read everything.
            if chunk.is_empty() || program.write_all(&chunk).await.is_err() {
                return;
            }
        }
    }
}

impl Piped {
    /// What stands at this place, read now where it did not come yet; nothing at the end.
    async fn next(&mut self, at: usize) -> io::Result<Vec<u8>> {
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
        self.keep(&chunk);
        Ok(chunk)
    }

    fn keep(&mut self, chunk: &[u8]) {
        self.is_over = chunk.is_empty();
        self.is_lost |= self.kept.len() + chunk.len() > KEPT_BYTES_MAX;
        if self.is_lost {
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(chunk);
        }
    }
}

/// The pipe, for waiting: opened once more, because what we have may be shared with programs that are in
/// for a surprise if it did not wait for input any more.
fn open() -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    File::options().read(true).custom_flags(flags).open("/dev/stdin")
}

fn gone(why: &str) -> Fault {
    let what = "its standard input from the beginning".to_owned();
    let message = format!("the command would read only the rest of its standard input: {why}");
    Fault::precondition_missing("exec", message, Missing { what })
}
