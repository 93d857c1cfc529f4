//! Access to files. Those that an agent may have made are only read if they are regular: a symbolic
//! link, a pipe or a device in their place would hang the supervisor, fill its memory, or expose
//! files outside the worktree.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file; refuses a symbolic link and any other kind of file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    // Without NONBLOCK, opening a pipe would block until it has a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// Reads a regular file, at most its first `bytes_max` bytes.
pub(crate) fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether a path leads to a file that may be executed.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Turns the error for a missing file or folder into `None`.
pub(crate) fn allow_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_bytes_on_a_disk_are_read_and_not_more_than_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "0123456789").unwrap();
        assert_eq!(read_regular(&file, 4).unwrap(), b"0123");
        let link = folder.path().join("link");
        symlink("/dev/zero", &link).unwrap();
        assert!(read_regular(&link, 4).is_err());
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert!(read_regular(&pipe, 4).is_err());
        assert!(read_regular(Path::new("/dev/zero"), 4).is_err());
        assert!(read_regular(folder.path(), 4).is_err());
    }
}
