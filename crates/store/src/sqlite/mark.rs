//! The mark of a project: a small file beside the database that records the position of the journal. Its name
//! does not begin with that of the database, so `rm state.db*` leaves it in place.
//!
//! SQLite skips the unreadable part of its WAL, and a database without its WAL is a valid database of an
//! earlier time. The mark is written after each commit and is on disk before an action is dispatched, so a
//! journal that ends before it has lost something.
//!
//! The file begins with two copies of the mark, each with its digest. After them come the actions that were
//! dispatched since the WAL was last folded into the database: what is still known of them when the journal
//! itself is lost.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::engine::DoubtedAction;

use super::{fail, files};
use crate::chain::Seal;
use crate::error::StoreError;

/// Size of a copy of the mark, which a disk writes atomically.
const COPY_BYTES: usize = 512;
const COPIES: usize = 2;
/// The offset of the actions.
const ACTIONS_AT: u64 = (COPY_BYTES * COPIES) as u64;
/// Initial size of the file, so that writes seldom extend it.
const FILE_BYTES: usize = 16 * 1024;
/// Length of the digest before each part, in hexadecimal digits.
const DIGEST_CHARS: usize = 32;
/// Maximum number of bytes read.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The prefix and suffix of a mark's file name.
const BEGINS: &str = "journal-";
const EXTENSION: &str = ".mark";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalPosition {
    /// The epoch of the holder.
    pub(super) epoch: i64,
    /// The last event.
    pub(super) seq: u64,
    /// The seal of that event.
    pub(super) seal: Seal,
}

/// The serialized form of the mark.
#[derive(Debug, Serialize, Deserialize)]
struct MarkRecord {
    epoch: i64,
    seq: u64,
    seal: String,
    /// Size of the actions that follow, in bytes.
    actions: u64,
}

/// An action that was dispatched.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DispatchedAction {
    pub(super) seq: u64,
    #[serde(flatten)]
    pub(super) action: DoubtedAction,
}

#[derive(Debug)]
pub(super) struct MarkContent {
    pub(super) reached: JournalPosition,
    actions: u64,
}

/// The mark of a claimed project, for writing.
#[derive(Debug)]
pub(super) struct JournalMark {
    file: File,
    path: PathBuf,
    actions: u64,
}

impl JournalMark {
    /// Opens the mark of a project, or creates one that is on disk before the database refers to it.
    pub(super) fn open(
        database: &Path,
        project: &str,
        first: JournalPosition,
    ) -> Result<Self, StoreError> {
        let path = mark_path(database, project);
        let failed = |error: io::Error| fail::convert_io_error(&path, "written", &error);
        if !path.exists() {
            match fs::rename(earlier_path(database, project), &path) {
                Ok(()) => sync_folder(&path).map_err(failed)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Self::create(&path, first);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let file = files::open_private_file(&path).map_err(failed)?;
        // An unreadable mark was refused before, or is not enforced.
        let actions = read_mark_file(&path).ok().flatten().map_or(0, |read| read.actions);
        Ok(Self { file, path, actions })
    }

    /// Creates a mark atomically.
    fn create(path: &Path, first: JournalPosition) -> Result<Self, StoreError> {
        let failed = |error: io::Error| fail::convert_io_error(path, "written", &error);
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let file = files::open_private_file(Path::new(&new)).map_err(failed)?;
        file.write_all_at(&[0; FILE_BYTES], 0).map_err(failed)?;
        let mark = Self { file, path: path.to_owned(), actions: 0 };
        mark.write_position(first)?;
        mark.wait_for_disk()?;
        fs::rename(&new, path).map_err(failed)?;
        sync_folder(path).map_err(failed)?;
        Ok(mark)
    }

    /// Sets the position regardless of the earlier one, and waits for the disk.
    pub(super) fn reset(&mut self, reached: JournalPosition) -> Result<(), StoreError> {
        self.drop_actions();
        self.write_position(reached)?;
        self.wait_for_disk()
    }

    /// Writes the position of the journal.
    pub(super) fn write_position(&self, reached: JournalPosition) -> Result<(), StoreError> {
        let JournalPosition { epoch, seq, seal } = reached;
        let written = MarkRecord { epoch, seq, seal: seal.to_string(), actions: self.actions };
        let mut copy = serialize_with_digest(&written);
        copy.resize(COPY_BYTES, b' ');
        let both = copy.repeat(COPIES);
        self.file.write_all_at(&both, 0).map_err(|error| self.write_error(&error))
    }

    /// Adds an action that is about to be dispatched; it counts from the next [`Self::put`] on.
    pub(super) fn add_action(&mut self, seq: u64, action: DoubtedAction) -> Result<(), StoreError> {
        let mut line = serialize_with_digest(&DispatchedAction { seq, action });
        line.push(b'\n');
        let at = ACTIONS_AT + self.actions;
        self.file.write_all_at(&line, at).map_err(|error| self.write_error(&error))?;
        self.actions += line.len() as u64;
        Ok(())
    }

    /// Drops the actions, which are no longer needed here once the journal is in the database file itself.
    pub(super) const fn drop_actions(&mut self) {
        self.actions = 0;
    }

    pub(super) fn wait_for_disk(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|error| self.write_error(&error))
    }

    fn write_error(&self, error: &io::Error) -> StoreError {
        fail::convert_io_error(&self.path, "written", error)
    }
}

/// Returns the path of a project's mark.
pub(super) fn mark_path(database: &Path, project: &str) -> PathBuf {
    let mut name = mark_name_prefix(database);
    name.push(digest_of_name(project));
    name.push(EXTENSION);
    parent_folder(database).join(name)
}

/// Returns the path that earlier versions used. A mark there is moved when the project is claimed.
fn earlier_path(database: &Path, project: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(format!(".{}{EXTENSION}", digest_of_name(project)));
    PathBuf::from(path)
}

/// Returns the prefix of the names of a database's marks; without a dot, so that no `*.db*` matches them.
fn mark_name_prefix(database: &Path) -> OsString {
    let name = database.file_name().unwrap_or_default().to_string_lossy().replace('.', "-");
    OsString::from(format!("{BEGINS}{name}-"))
}

/// Returns a file name for a project, whose own name may contain any character.
fn digest_of_name(project: &str) -> String {
    let digest = blake3::hash(project.as_bytes()).to_hex();
    digest.as_str()[..16].to_owned()
}

/// Returns whether a file is the mark of a project.
pub(super) fn is_mark_of(file: &Path, database: &Path, project: &str) -> bool {
    file == mark_path(database, project) || file == earlier_path(database, project)
}

/// Returns the marks beside a database, one for each project.
pub(super) fn list_mark_files(database: &Path) -> io::Result<Vec<PathBuf>> {
    let found = match fs::read_dir(parent_folder(database)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let begins = mark_name_prefix(database);
    let mut began: OsString = database.file_name().unwrap_or_default().to_owned();
    began.push(".");
    let mut marks = Vec::new();
    let mut earlier = Vec::new();
    for entry in found {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.as_encoded_bytes().strip_suffix(EXTENSION.as_bytes()) else {
            continue;
        };
        if let Some(project) = name.strip_prefix(begins.as_encoded_bytes()) {
            marks.push((project.to_owned(), entry.path()));
        } else if let Some(project) = name.strip_prefix(began.as_encoded_bytes()) {
            earlier.push((project.to_owned(), entry.path()));
        }
    }
    // A mark under the earlier name does not count beside a newer one.
    earlier.retain(|(project, _)| marks.iter().all(|(made, _)| made != project));
    Ok(marks.into_iter().chain(earlier).map(|(_, path)| path).collect())
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(parent_folder(path)).and_then(|folder| folder.sync_all())
}

/// Returns the folder of a file.
pub(super) fn parent_folder(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Reads the mark of a project; `None` if there is none.
pub(super) fn read_mark(database: &Path, project: &str) -> Result<Option<MarkContent>, StoreError> {
    let path = mark_path(database, project);
    for path in [&path, &earlier_path(database, project)] {
        if let Some(read) = read_mark_file(path)? {
            return Ok(Some(read));
        }
    }
    // The mark may have been moved between the two reads.
    read_mark_file(&path)
}

/// Reads the mark in a file; `None` if there is none.
pub(super) fn read_mark_file(path: &Path) -> Result<Option<MarkContent>, StoreError> {
    let Some(bytes) = read_bytes(path, ACTIONS_AT)? else { return Ok(None) };
    let copies = bytes.chunks(COPY_BYTES);
    // The copies differ if the power failed between the two; both were true.
    let newest = copies.filter_map(deserialize_with_digest::<MarkRecord>).filter_map(parse_record);
    match newest.max_by_key(|read| (read.reached.seq, read.reached.epoch)) {
        Some(read) => Ok(Some(read)),
        None => Err(StoreError::Damaged {
            at: path.display().to_string(),
            what: "how far the journal has come cannot be read from it".to_owned(),
        }),
    }
}

fn parse_record(written: MarkRecord) -> Option<MarkContent> {
    let MarkRecord { epoch, seq, seal, actions } = written;
    Some(MarkContent { reached: JournalPosition { epoch, seq, seal: seal.parse().ok()? }, actions })
}

/// Returns the actions that were dispatched, as far as the mark still contains them.
pub(super) fn load_dispatched_actions(
    database: &Path,
    project: &str,
) -> Result<Vec<DispatchedAction>, StoreError> {
    let bytes = match read_bytes(&mark_path(database, project), FILE_BYTES_MAX)? {
        Some(bytes) => bytes,
        None => read_bytes(&earlier_path(database, project), FILE_BYTES_MAX)?.unwrap_or_default(),
    };
    let start = usize::try_from(ACTIONS_AT).unwrap_or(usize::MAX);
    let lines = bytes.get(start..).unwrap_or_default().split(|byte| *byte == b'\n');
    Ok(lines.filter_map(deserialize_with_digest::<DispatchedAction>).collect())
}

/// Reads the first bytes of a file, if it exists.
fn read_bytes(path: &Path, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail::convert_io_error(path, "read", &error)),
    }
}

/// Serializes a value with its digest before it.
#[expect(clippy::expect_used, reason = "a mark without its content would hide a loss")]
fn serialize_with_digest(what: &impl Serialize) -> Vec<u8> {
    let body =
        serde_json::to_vec(what).expect("invariant: numbers and texts can always be serialized");
    [hex_digest(&body).as_bytes(), b" ", &body].concat()
}

fn deserialize_with_digest<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    let (found, body) = bytes.trim_ascii_end().split_at_checked(DIGEST_CHARS)?;
    let body = body.strip_prefix(b" ")?;
    if hex_digest(body).as_bytes() != found {
        return None;
    }
    serde_json::from_slice(body).ok()
}

fn hex_digest(body: &[u8]) -> String {
    let mut hex = blake3::hash(body).to_hex().to_string();
    hex.truncate(DIGEST_CHARS);
    hex
}
