//! The files of a database: readable by their owner only, and inspected before any process changes them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::fail;
use crate::error::StoreError;

/// The application id of Unstuck's databases: `UnSt` in ASCII.
pub(super) const APPLICATION: u32 = 0x556e_5374;

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

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
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fail::convert_io_error(&path, "read", &error)),
    };
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

/// Returns the identity of a file: its device and inode.
pub(super) fn file_identity(at: &Path) -> Result<(u64, u64), StoreError> {
    let found = fs::metadata(at).map_err(|error| fail::convert_io_error(at, "read", &error))?;
    Ok((found.dev(), found.ino()))
}

/// Creates a file that only its owner may read; an existing one is not touched.
pub(super) fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Opens a file that only its owner may read, and creates it if there is none.
pub(super) fn open_private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode != FILE_MODE {
        // Another user's file keeps its mode; Unstuck's own is private whatever the umask.
        file.set_permissions(Permissions::from_mode(FILE_MODE)).ok();
    }
    Ok(file)
}

/// Creates the folder of a file.
pub(super) fn make_parent_folder(at: &Path) -> Result<(), StoreError> {
    match at.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => make_private_folder(folder),
        None => Ok(()),
    }
}

/// Creates a folder that only its owner may read; an existing one is not touched.
pub(super) fn make_private_folder(folder: &Path) -> Result<(), StoreError> {
    if fs::metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
    made.map_err(|error| fail::convert_io_error(folder, "made", &error))
}
