//! A file of a diff: the facts of its header and its changed lines, reduced to one digest.

use std::collections::BTreeMap;

use super::diff_header::DiffHeader;
use super::hasher::{Digest, LineHasher, PieceHasher};

/// Maximum length of a block of changed lines that is compared for changes in white space only; a longer one
/// is split.
pub(super) const BLOCK_LINES_MAX: usize = 4_096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HunkLineKind {
    Context,
    Removed,
    Added,
    /// `\ No newline at end of file`.
    Note,
}

impl HunkLineKind {
    /// Returns the kind for the first byte of the line.
    pub(super) const fn from_first_byte(first: u8) -> Self {
        match first {
            b'+' => Self::Added,
            b'-' => Self::Removed,
            b'\\' => Self::Note,
            _ => Self::Context,
        }
    }
}

/// The part of the file's diff that was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DiffFilePart {
    #[default]
    Header,
    BinaryPatch,
    Hunks,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DiffFile {
    path: Vec<u8>,
    renamed_from: Vec<u8>,
    index: Vec<u8>,
    part: DiffFilePart,
    lines: LineHasher,
    removed: Vec<Digest>,
    added: Vec<Digest>,
    /// The last unchanged line, and whether the change after it has included it.
    anchor: Option<Digest>,
    anchored: bool,
    /// Facts of the header: a set, kept as a sum.
    facts: u64,
    changes: PieceHasher,
    changed: bool,
}

impl DiffFile {
    pub(super) fn with_path(path: &[u8]) -> Self {
        let lines = LineHasher::for_path(path);
        Self { path: path.to_vec(), lines, ..Self::default() }
    }

    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    pub(super) fn renamed_from(&self) -> &[u8] {
        &self.renamed_from
    }

    pub(super) fn in_hunks(&self) -> bool {
        self.part == DiffFilePart::Hunks
    }

    pub(super) fn in_binary_patch(&self) -> bool {
        self.part == DiffFilePart::BinaryPatch
    }

    /// Reads a line between hunks.
    pub(super) fn read_header(&mut self, header: DiffHeader) {
        match header {
            DiffHeader::NewPath(Some(path)) => self.set_path(path),
            DiffHeader::RenamedFrom(path) => {
                self.add_fact(b"from", &path);
                self.renamed_from = path;
            }
            DiffHeader::RenamedTo(path) => {
                self.add_fact(b"to", &path);
                self.set_path(path);
            }
            DiffHeader::Index(blobs) => self.index = blobs,
            // Only the blobs distinguish two changes of a binary file.
            DiffHeader::Binary => {
                let index = std::mem::take(&mut self.index);
                self.add_fact(b"binary", &index);
            }
            DiffHeader::BinaryPatch => self.part = DiffFilePart::BinaryPatch,
            DiffHeader::PatchData(data) => {
                self.changed = true;
                self.changes.push_text(&data);
            }
            DiffHeader::Fact(line) => self.add_fact(b"fact", &line),
            DiffHeader::File(_)
            | DiffHeader::Hunk(_)
            | DiffHeader::OldPath(_)
            | DiffHeader::NewPath(None)
            | DiffHeader::Noise => {}
        }
    }

    fn set_path(&mut self, path: Vec<u8>) {
        self.lines = LineHasher::for_path(&path);
        self.path = path;
    }

    fn add_fact(&mut self, name: &[u8], value: &[u8]) {
        let mut hasher = PieceHasher::default();
        hasher.push_text(name);
        hasher.push_text(value);
        self.facts = self.facts.wrapping_add(hasher.take_digest().0);
        self.changed = true;
    }

    pub(super) fn start_hunk(&mut self) {
        self.end_block();
        self.part = DiffFilePart::Hunks;
        (self.anchor, self.anchored) = (None, false);
    }

    /// Reads a part of a line of a hunk.
    pub(super) fn push_line_part(&mut self, part: &[u8]) {
        self.lines.push(part);
    }

    pub(super) fn end_line(&mut self, side: HunkLineKind) {
        let Some(line) = self.lines.take_digest() else { return };
        match side {
            HunkLineKind::Note => {}
            HunkLineKind::Removed => self.removed.push(line),
            HunkLineKind::Added => self.added.push(line),
            HunkLineKind::Context => {
                self.end_block();
                self.set_anchor(line);
            }
        }
        if self.removed.len() + self.added.len() >= BLOCK_LINES_MAX {
            self.end_block();
        }
    }

    fn set_anchor(&mut self, line: Digest) {
        (self.anchor, self.anchored) = (Some(line), false);
    }

    /// Adds the block's lines to the digest. A line that is removed and added again with different white
    /// space only is an unchanged line.
    fn end_block(&mut self) {
        let removed = std::mem::take(&mut self.removed);
        let added = std::mem::take(&mut self.added);
        let mut from_removed = 0;
        let mut from_added = 0;
        for (in_removed, in_added) in pair_kept_lines(&removed, &added) {
            self.hash_lines(&removed[from_removed..in_removed], &added[from_added..in_added]);
            self.set_anchor(removed[in_removed]);
            (from_removed, from_added) = (in_removed + 1, in_added + 1);
        }
        self.hash_lines(&removed[from_removed..], &added[from_added..]);
    }

    fn hash_lines(&mut self, removed: &[Digest], added: &[Digest]) {
        if removed.is_empty() && added.is_empty() {
            return;
        }
        self.changed = true;
        if !std::mem::replace(&mut self.anchored, true) {
            self.changes.push_piece(b"@");
            self.changes.push_number(self.anchor.map_or(0, |anchor| anchor.0));
        }
        for (sign, lines) in [(b"-", removed), (b"+", added)] {
            for line in lines {
                self.changes.push_piece(sign);
                self.changes.push_number(line.0);
            }
        }
    }

    /// Returns the digest of the file's change; `None` if only white space changed.
    pub(super) fn finish(&mut self) -> Option<Digest> {
        self.end_block();
        let mut hasher = PieceHasher::for_purpose("file");
        hasher.push_text(&self.path);
        hasher.push_number(self.facts);
        hasher.push_number(self.changes.take_digest().0);
        self.changed.then(|| hasher.take_digest())
    }
}

/// Returns the lines present on both sides, as pairs of positions that increase on both. Greedy, and
/// therefore linear: each added line takes the next equal removed line.
fn pair_kept_lines(removed: &[Digest], added: &[Digest]) -> Vec<(usize, usize)> {
    if removed.is_empty() || added.is_empty() {
        return Vec::new();
    }
    let mut places: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
    for (place, line) in removed.iter().enumerate().rev() {
        places.entry(*line).or_default().push(place);
    }
    let mut next = 0;
    let mut pairs = Vec::new();
    for (in_added, line) in added.iter().enumerate() {
        let Some(ahead) = places.get_mut(line) else { continue };
        while ahead.last().is_some_and(|place| *place < next) {
            ahead.pop();
        }
        if let Some(in_removed) = ahead.pop() {
            pairs.push((in_removed, in_added));
            next = in_removed + 1;
        }
    }
    pairs
}
