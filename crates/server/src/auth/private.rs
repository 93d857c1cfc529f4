//! Files that only their owner may access.
//!
//! They are written to a draft and renamed: a reader finds the old or the new content, never a part
//! of it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use super::error::AccessError;

/// The permission bits of all users but the owner.
const OTHERS_MODE: u32 = 0o077;
/// All permission bits.
const MODE_BITS: u32 = 0o7777;

/// A fingerprint of a file's state, which changes with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrivateFileStamp {
    inode: u64,
    bytes: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl PrivateFileStamp {
    /// Returns the state of a file; `None` if it does not exist.
    pub(super) fn read_from(path: &Path) -> Result<Option<Self>, AccessError> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Self {
                inode: found.ino(),
                bytes: found.len(),
                written: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(AccessError::NotRead { path: path.to_owned(), source }),
        }
    }
}

/// Makes a folder that other users cannot read.
pub(super) fn make_folder(folder: &Path) -> Result<(), AccessError> {
    let closed = || {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if fs::metadata(folder)?.mode() & OTHERS_MODE == 0 {
            return Ok(());
        }
        fs::set_permissions(folder, Permissions::from_mode(0o700))
    };
    closed().map_err(|source| write_error(folder, source))
}

/// Locks a file for writing until the result is dropped. The lock file is never removed: a removed
/// one could be locked twice.
pub(super) fn lock_file(path: &Path) -> Result<File, AccessError> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let locked = || {
        let file = options.open(path)?;
        file.lock()?;
        Ok(file)
    };
    locked().map_err(|source| write_error(path, source))
}

/// Reads a file; returns `None` if it does not exist. A file that other users may read or change is
/// refused.
pub(super) fn read_file(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, AccessError> {
    let not_read = |source| AccessError::NotRead { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(not_read(source)),
    };
    let mode = file.metadata().map_err(not_read)?.mode() & MODE_BITS;
    if mode & OTHERS_MODE != 0 {
        return Err(AccessError::Exposed { path: path.to_owned(), mode });
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(not_read)?;
    if bytes.len() as u64 > bytes_max {
        let why = format!("it is larger than {bytes_max} bytes");
        return Err(AccessError::Damaged { path: path.to_owned(), why });
    }
    Ok(Some(bytes))
}

/// Writes a file atomically and durably. The caller holds the lock.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), AccessError> {
    let draft = path.with_extension("new");
    let written = || {
        // A killed writer may have left a draft.
        remove_file(&draft)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    written().map_err(|source| write_error(path, source))
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn write_error(path: &Path, source: io::Error) -> AccessError {
    AccessError::NotWritten { path: path.to_owned(), source }
}

pub(super) fn random_bytes<const N: usize>() -> Result<[u8; N], AccessError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| AccessError::NoRandom(error.to_string()))?;
    Ok(bytes)
}

pub(super) fn random_name() -> Result<String, AccessError> {
    Ok(BASE64.encode(random_bytes::<16>()?))
}
