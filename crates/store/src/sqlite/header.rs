//! The first bytes of the files, inspected before any process changes them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::fail;
use super::migrate::APPLICATION;
use crate::error::StoreError;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER_BYTES: usize = 100;
const VERSION_AT: usize = 60;
const APPLICATION_AT: usize = 68;
/// The first bytes of a WAL, in either byte order of its checksums.
const LOG_MAGIC: [u32; 2] = [0x377f_0682, 0x377f_0683];

/// Checks the file and the WAL beside it. An empty file is a new database.
pub(super) fn check_header(at: &Path, mut file: &File, known: u32) -> Result<(), StoreError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(HEADER_BYTES as u64).read_to_end(&mut header));
    read.map_err(|error| fail::convert_io_error(at, "read", &error))?;
    if header.is_empty() {
        return Ok(());
    }
    let damaged = |what: &str| {
        Err(StoreError::Damaged { at: at.display().to_string(), what: what.to_owned() })
    };
    if !header.starts_with(MAGIC) {
        return damaged("it is not a SQLite database");
    }
    let (Some(found), Some(application)) =
        (parse_u32_at(&header, VERSION_AT), parse_u32_at(&header, APPLICATION_AT))
    else {
        return damaged("its header is cut short");
    };
    // An unfinished database has neither; its content is checked later.
    if application != 0 && application != APPLICATION {
        return damaged("it belongs to another program");
    }
    if application == APPLICATION && found > known {
        return Err(StoreError::Newer { at: at.display().to_string(), found, known });
    }
    check_log(at)
}

/// Refuses a WAL that does not begin with its magic number, because another program wrote it.
fn check_log(at: &Path) -> Result<(), StoreError> {
    let path = log_path(at);
    let Ok(file) = File::open(&path) else { return Ok(()) };
    let mut mark = Vec::with_capacity(4);
    file.take(4).read_to_end(&mut mark).map_err(|e| fail::convert_io_error(at, "read", &e))?;
    match parse_u32_at(&mark, 0) {
        // An empty WAL, or one whose first page was never written.
        None | Some(0) => Ok(()),
        Some(mark) if LOG_MAGIC.contains(&mark) => Ok(()),
        Some(_) => Err(StoreError::Damaged {
            at: path.display().to_string(),
            what: "the log beside the database is not one".to_owned(),
        }),
    }
}

/// Returns the path of the WAL beside the database.
pub(super) fn log_path(at: &Path) -> PathBuf {
    let mut path = at.as_os_str().to_owned();
    path.push("-wal");
    PathBuf::from(path)
}

fn parse_u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    four.try_into().ok().map(u32::from_be_bytes)
}
