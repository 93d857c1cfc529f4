//! A log file of a program's output: without secrets, and limited in size.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::redact::{RedactionStream, Redactor};

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

/// The notice that is written once when the limit is reached.
const FULL: &[u8] = b"\n[... the rest is left out: the file is full ...]\n";

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

    pub(super) fn redaction_stream(&self) -> RedactionStream<'_> {
        self.redactor.start_stream()
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
            let _ = open.file.write_all(FULL);
        }
    }
}
