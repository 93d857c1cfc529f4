//! Reads a unified git diff and computes the identity of the change, independent of order and format.
//!
//! Significant: the file, its kind of change (new, deleted, renamed, copied, mode, binary), the removed and
//! added lines in order, and the line before each change, because the same line in another function is
//! another change. Comments count, because the author chose their text. Not significant: the order of files,
//! `index` and similarity lines, hunk numbers and headings, the `a/` and `b/` before a path, time stamps
//! after it, blank lines, and lines that changed in white space only.
//!
//! The diff may come in chunks of any size. Memory stays bounded: a header line, one block of changed lines
//! (as hashes) and a few names. Bytes that are not a diff are harmless.

use std::collections::BTreeSet;

use super::diff_file::{DiffFile, HunkLineKind};
use super::diff_header::{DiffHeader, Hunk};
use super::hasher::{Digest, PieceHasher};
use super::mask::one_line;

/// Maximum number of changed files that are named.
pub const FILES_MAX: usize = 20;
/// Maximum length of a file's name among them, in characters.
pub const FILE_CHARS_MAX: usize = 200;
/// Maximum length of a header line; longer ones are cut, and no path is that long.
const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of changed paths kept for [`Change::shows`].
const PATHS_MAX: usize = 100_000;

/// The change of a diff base→worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffChange {
    /// The digest of the change; `None` if only white space changed.
    pub digest: Option<Digest>,
    /// Some of the changed files, at most [`FILES_MAX`], sorted by name.
    pub files: Vec<String>,
    /// Number of changed files.
    pub files_changed: u32,
    /// Number of added lines.
    pub lines_added: u32,
    /// Number of removed lines.
    pub lines_removed: u32,
    paths: BTreeSet<Digest>,
}

impl DiffChange {
    /// Reads a whole diff at once.
    pub fn from_diff(diff: &[u8]) -> Self {
        let mut reader = DiffReader::default();
        reader.push(diff);
        reader.finish()
    }

    /// Returns whether the diff changes the file at `path` (relative to the worktree).
    pub(super) fn touches_path(&self, path: &str) -> bool {
        self.paths.contains(&path_digest(path.as_bytes()))
            || (self.paths.len() >= PATHS_MAX && self.files_changed as usize > PATHS_MAX)
    }
}

/// Returns the digest of the change in a diff; `None` for an empty one and for white space alone.
pub fn diff_digest(diff: &[u8]) -> Option<Digest> {
    DiffChange::from_diff(diff).digest
}

/// Reads a diff chunk by chunk, as git writes it: without color, external diff programs and text conversion,
/// with renames (`-M`) and some lines of context. New files must be in it (`git add --intent-to-add`), or
/// they are not seen.
#[derive(Clone, Debug, Default)]
pub struct DiffReader {
    header: Vec<u8>,
    place: DiffPosition,
    file: Option<DiffFile>,
    names: BTreeSet<String>,
    files_changed: u32,
    lines_added: u32,
    lines_removed: u32,
    paths: BTreeSet<Digest>,
    /// The sum over all files: addition is independent of order.
    sum: u128,
}

/// The position of the next byte in the diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DiffPosition {
    /// In a line between hunks, which is collected.
    #[default]
    Header,
    /// At the start of a line of a hunk.
    LineStart(Hunk),
    /// Within a line of a hunk.
    Line(Hunk, HunkLineKind),
}

impl DiffReader {
    /// Reads the next chunk.
    pub fn push(&mut self, mut chunk: &[u8]) {
        while let Some(&first) = chunk.first() {
            if let DiffPosition::LineStart(hunk) = self.place {
                match hunk.after_line(first) {
                    Some((rest, prefix)) => {
                        chunk = &chunk[prefix..];
                        self.place = DiffPosition::Line(rest, HunkLineKind::from_first_byte(first));
                    }
                    None => self.place = DiffPosition::Header,
                }
                continue;
            }
            let end = memchr::memchr(b'\n', chunk);
            self.read_part(&chunk[..end.unwrap_or(chunk.len())]);
            let Some(end) = end else { return };
            chunk = &chunk[end + 1..];
            self.end_line();
        }
    }

    /// Returns the change read so far.
    pub fn finish(mut self) -> DiffChange {
        self.end_line();
        self.end_file();
        let digest = (self.sum != 0).then(|| {
            let mut hasher = PieceHasher::for_purpose("change");
            hasher.push_piece(&self.sum.to_le_bytes());
            hasher.take_digest()
        });
        DiffChange {
            digest,
            files: self.names.into_iter().collect(),
            files_changed: self.files_changed,
            lines_added: self.lines_added,
            lines_removed: self.lines_removed,
            paths: self.paths,
        }
    }

    fn read_part(&mut self, part: &[u8]) {
        match self.place {
            DiffPosition::Line(_, HunkLineKind::Note) | DiffPosition::LineStart(_) => {}
            DiffPosition::Line(..) => {
                if let Some(file) = &mut self.file {
                    file.push_line_part(part);
                }
            }
            DiffPosition::Header => {
                let room = HEADER_BYTES_MAX - self.header.len();
                self.header.extend_from_slice(&part[..part.len().min(room)]);
            }
        }
    }

    fn end_line(&mut self) {
        match self.place {
            DiffPosition::Header => self.end_header(),
            DiffPosition::LineStart(_) => {}
            DiffPosition::Line(hunk, side) => {
                match side {
                    HunkLineKind::Added => self.lines_added = self.lines_added.saturating_add(1),
                    HunkLineKind::Removed => {
                        self.lines_removed = self.lines_removed.saturating_add(1);
                    }
                    HunkLineKind::Context | HunkLineKind::Note => {}
                }
                if let Some(file) = &mut self.file {
                    file.end_line(side);
                }
                self.place = DiffPosition::LineStart(hunk);
            }
        }
    }

    fn end_header(&mut self) {
        let line = std::mem::take(&mut self.header);
        match DiffHeader::parse(&line, self.file.as_ref().is_some_and(DiffFile::in_binary_patch)) {
            DiffHeader::File(path) => self.start_file(path.as_deref()),
            DiffHeader::Hunk(hunk) => {
                if let Some(file) = &mut self.file {
                    file.start_hunk();
                    self.place = DiffPosition::LineStart(hunk);
                }
            }
            DiffHeader::OldPath(path) => {
                // A diff without git's own header starts a file here.
                if self.file.as_ref().is_none_or(DiffFile::in_hunks) {
                    self.start_file(path.as_deref());
                }
            }
            other => {
                if let Some(file) = &mut self.file {
                    file.read_header(other);
                }
            }
        }
        self.header = line;
        self.header.clear();
    }

    fn start_file(&mut self, path: Option<&[u8]>) {
        self.end_file();
        self.file = Some(DiffFile::with_path(path.unwrap_or_default()));
    }

    fn end_file(&mut self) {
        let Some(mut file) = self.file.take() else { return };
        self.files_changed = self.files_changed.saturating_add(1);
        for path in [file.path(), file.renamed_from()] {
            if !path.is_empty() && self.paths.len() < PATHS_MAX {
                self.paths.insert(path_digest(path));
            }
        }
        self.names.insert(one_line(&String::from_utf8_lossy(file.path()), FILE_CHARS_MAX));
        if self.names.len() > FILES_MAX {
            self.names.pop_last();
        }
        if let Some(digest) = file.finish() {
            self.sum = self.sum.wrapping_add(u128::from(digest.0) + 1);
        }
    }
}

fn path_digest(path: &[u8]) -> Digest {
    let mut hasher = PieceHasher::for_purpose("path");
    hasher.push_piece(path);
    hasher.take_digest()
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
