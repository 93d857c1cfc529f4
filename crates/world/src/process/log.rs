//! A file that keeps what a program writes: without secrets, and within a limit.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::redact::{Redactor, Stream};

/// Where a program's output is kept.
#[derive(Clone, Debug)]
pub struct Log {
    /// The file. What it holds stays, and more is put behind it.
    pub path: PathBuf,
    /// Takes secrets out.
    pub redactor: Arc<Redactor>,
    /// How long the file may become.
    pub bytes_max: u64,
}

/// Said once where the rest is left out.
const FULL: &[u8] = b"\n[... the rest is left out: the file is full ...]\n";

impl Log {
    /// The file, if it can be used; what cannot be kept is no reason not to run.
    pub(super) fn open(&self) -> Option<Opened> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&self.path);
        let file = file.and_then(|file| {
            let left = self.bytes_max.saturating_sub(file.metadata()?.len());
            Ok(Opened(Mutex::new(Open { file, left })))
        });
        file.ok()
    }

    pub(super) fn stream(&self) -> Stream<'_> {
        self.redactor.stream()
    }
}

/// The open file, which both streams of a program share.
#[derive(Debug)]
pub(super) struct Opened(Mutex<Open>);

#[derive(Debug)]
struct Open {
    file: File,
    left: u64,
}

impl Opened {
    pub(super) fn write(&self, clean: &[u8]) {
        // Nothing in here panics half way, so a poisoned value is a whole one.
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.left == 0 {
            return;
        }
        let length = u64::try_from(clean.len()).unwrap_or(u64::MAX);
        let kept = usize::try_from(length.min(open.left)).unwrap_or(usize::MAX);
        open.left = open.left.saturating_sub(length);
        // A disk that is full is not the program's fault.
        let _ = open.file.write_all(&clean[..kept]);
        if open.left == 0 {
            let _ = open.file.write_all(FULL);
        }
    }
}
