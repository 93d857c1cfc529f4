//! Removes known secrets from files that another program has written.
//!
//! An agent program keeps the conversation in files of its own, and its output ends up there, its
//! own key included. Such a file may be open and grow meanwhile, so a value is overwritten in
//! place, byte by byte, and nothing moves.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;

use super::Redactor;
use crate::regular_file::allow_missing;

/// Size of the chunks in which a file is read, in bytes.
const PIECE_BYTES: usize = 1 << 20;
/// Name of the file whose modification time says up to when all files are clean.
const STAMP: &str = ".unstuck-redacted";
/// Tolerance for the coarse timestamps of file systems.
const SLACK: Duration = Duration::from_secs(2);
/// Files that hold a login by design; without it the program could not work.
const LOGINS: [&str; 2] = ["auth.json", ".credentials.json"];
/// The beginning of a database file: its pages are not text, and its log has checksums.
const DATABASE: &[u8] = b"SQLite format 3\0";
const DEPTH_MAX: usize = 16;

impl Redactor {
    /// Overwrites every known secret in the files below `folder` that have changed since the last
    /// call, and returns the number of files that held one. Does not follow links.
    pub fn redact_files(&self, folder: &Path) -> io::Result<usize> {
        if self.values.is_none() {
            return Ok(0);
        }
        let stamp = folder.join(STAMP);
        let next = folder.join(format!("{STAMP}.new"));
        let since = fs::symlink_metadata(&stamp).and_then(|known| known.modified()).ok();
        let since = since.and_then(|since| since.checked_sub(SLACK));
        // The agent can write here: a link that it has put in this place is removed, not followed.
        allow_missing(fs::remove_file(&next))?;
        // Later changes are examined at the next call.
        let begun = File::create_new(&next)?;
        let cleaned = self.redact_below(folder, since, DEPTH_MAX)?;
        drop(begun);
        fs::rename(next, stamp)?;
        Ok(cleaned)
    }

    fn redact_below(
        &self,
        folder: &Path,
        since: Option<SystemTime>,
        depth: usize,
    ) -> io::Result<usize> {
        let mut cleaned = 0;
        for entry in fs::read_dir(folder)?.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth > 0 {
                cleaned += self.redact_below(&entry.path(), since, depth - 1).unwrap_or(0);
            } else if kind.is_file() && needs_redaction(&entry, since) {
                // A file that has disappeared or cannot be written is no reason to skip the others.
                cleaned += usize::from(self.redact_file(&entry.path()).unwrap_or(false));
            }
        }
        Ok(cleaned)
    }

    /// Overwrites every known secret in one file, and returns whether there was any.
    fn redact_file(&self, path: &Path) -> io::Result<bool> {
        let mut options = OpenOptions::new();
        let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
        let file = options.read(true).write(true).custom_flags(nofollow).open(path)?;
        let mut piece = vec![0; PIECE_BYTES + self.longest];
        let mut at = 0_u64;
        let mut found = false;
        loop {
            let length = read_full(&file, &mut piece, at)?;
            if at == 0 && piece[..length].starts_with(DATABASE) {
                return Ok(false);
            }
            for secret in self.find_known(&piece[..length]) {
                let range = secret.range;
                let start = at + u64::try_from(range.start).unwrap_or(u64::MAX);
                file.write_all_at(&vec![b'*'; range.len()], start)?;
                found = true;
            }
            if length < piece.len() {
                return Ok(found);
            }
            // The end of this chunk is examined again: a secret may cross it.
            at += u64::try_from(PIECE_BYTES).unwrap_or(u64::MAX);
        }
    }
}

fn needs_redaction(entry: &DirEntry, since: Option<SystemTime>) -> bool {
    let name = entry.file_name();
    if LOGINS.iter().any(|login| name == OsStr::new(login)) {
        return false;
    }
    let changed = entry.metadata().and_then(|known| known.modified()).ok();
    match (changed, since) {
        (Some(changed), Some(since)) => changed >= since,
        _ => true,
    }
}

fn read_full(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < into.len() {
        let offset = at + u64::try_from(length).unwrap_or(u64::MAX);
        match file.read_at(&mut into[length..], offset) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const KEY: &str = "sk-canary-4711-canary";

    #[test]
    fn known_secrets_are_written_over_where_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let line = format!("{{\"said\":\"KEY={KEY}\"}}\n");
        write("projects/a/1.jsonl", line.as_bytes());
        write("auth.json", line.as_bytes());
        write("state.sqlite", &[DATABASE, line.as_bytes()].concat());
        // Across two chunks.
        let long = [vec![b'x'; PIECE_BYTES - 5], line.clone().into_bytes()].concat();
        write("long.log", &long);
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), &line).unwrap();
        symlink(outside.path(), folder.path().join("link.json")).unwrap();

        let redactor = Redactor::new([KEY]);
        assert_eq!(redactor.redact_files(folder.path()).unwrap(), 2);
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        let hidden = line.replace(KEY, &"*".repeat(KEY.len()));
        assert_eq!(read("projects/a/1.jsonl"), hidden.as_bytes());
        assert!(read("long.log").ends_with(hidden.as_bytes()));
        assert_eq!(read("auth.json"), line.as_bytes());
        assert!(read("state.sqlite").ends_with(line.as_bytes()));
        assert_eq!(fs::read(outside.path()).unwrap(), line.as_bytes());
        // A second call finds nothing in clean files, and secrets in new ones.
        assert_eq!(redactor.redact_files(folder.path()).unwrap(), 0);
        write("projects/a/2.jsonl", line.as_bytes());
        assert_eq!(redactor.redact_files(folder.path()).unwrap(), 1);
    }
    #[test]
    fn a_planted_link_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), "precious").unwrap();
        symlink(outside.path(), folder.path().join(format!("{STAMP}.new"))).unwrap();
        assert_eq!(Redactor::new([KEY]).redact_files(folder.path()).unwrap(), 0);
        assert_eq!(fs::read(outside.path()).unwrap(), b"precious");
        assert!(fs::symlink_metadata(folder.path().join(STAMP)).unwrap().is_file());
    }
}
