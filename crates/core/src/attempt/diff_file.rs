//! A file of a diff: the facts of its header and its changed lines, reduced to one digest.

use std::collections::BTreeMap;

use super::diff_header::Header;
use super::hasher::Digest;
use super::hasher::PieceHasher;
use super::line::LineHasher;

/// Maximum length of a block of changed lines that is compared for changes in white space only; a longer one
/// is split.
pub(super) const BLOCK_LINES_MAX: usize = 4_096;

/// The kind of a line in a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Context,
    Removed,
    Added,
    /// `\ No newline at end of file`.
    Note,
}

impl Side {
    /// Returns the kind for the first byte of the line.
    pub(super) const fn of(first: u8) -> Self {
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
enum Part {
    #[default]
    Header,
    BinaryPatch,
    Hunks,
}

/// A file of the diff.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    path: Vec<u8>,
    renamed_from: Vec<u8>,
    index: Vec<u8>,
    part: Part,
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

impl File {
    pub(super) fn at(path: &[u8]) -> Self {
        let lines = LineHasher::of(path);
        Self { path: path.to_vec(), lines, ..Self::default() }
    }

    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    pub(super) fn renamed_from(&self) -> &[u8] {
        &self.renamed_from
    }

    pub(super) fn in_hunks(&self) -> bool {
        self.part == Part::Hunks
    }

    pub(super) fn in_binary_patch(&self) -> bool {
        self.part == Part::BinaryPatch
    }

    /// Reads a line between hunks.
    pub(super) fn header(&mut self, header: Header) {
        match header {
            Header::NewPath(Some(path)) => self.call(path),
            Header::RenamedFrom(path) => {
                self.fact(b"from", &path);
                self.renamed_from = path;
            }
            Header::RenamedTo(path) => {
                self.fact(b"to", &path);
                self.call(path);
            }
            Header::Index(blobs) => self.index = blobs,
            // Only the blobs distinguish two changes of a binary file.
            Header::Binary => {
                let index = std::mem::take(&mut self.index);
                self.fact(b"binary", &index);
            }
            Header::BinaryPatch => self.part = Part::BinaryPatch,
            Header::PatchData(data) => {
                self.changed = true;
                self.changes.text(&data);
            }
            Header::Fact(line) => self.fact(b"fact", &line),
            Header::File(_)
            | Header::Hunk(_)
            | Header::OldPath(_)
            | Header::NewPath(None)
            | Header::Noise => {}
        }
    }

    fn call(&mut self, path: Vec<u8>) {
        self.lines = LineHasher::of(&path);
        self.path = path;
    }

    fn fact(&mut self, name: &[u8], value: &[u8]) {
        let mut hasher = PieceHasher::default();
        hasher.text(name);
        hasher.text(value);
        self.facts = self.facts.wrapping_add(hasher.take().0);
        self.changed = true;
    }

    pub(super) fn hunk_start(&mut self) {
        self.block_end();
        self.part = Part::Hunks;
        (self.anchor, self.anchored) = (None, false);
    }

    /// Reads a part of a line of a hunk.
    pub(super) fn line_part(&mut self, part: &[u8]) {
        self.lines.push(part);
    }

    pub(super) fn line_end(&mut self, side: Side) {
        let Some(line) = self.lines.take() else { return };
        match side {
            Side::Note => {}
            Side::Removed => self.removed.push(line),
            Side::Added => self.added.push(line),
            Side::Context => {
                self.block_end();
                self.unchanged(line);
            }
        }
        if self.removed.len() + self.added.len() >= BLOCK_LINES_MAX {
            self.block_end();
        }
    }

    fn unchanged(&mut self, line: Digest) {
        (self.anchor, self.anchored) = (Some(line), false);
    }

    /// Adds the block's lines to the digest. A line that is removed and added again with different white
    /// space only is an unchanged line.
    fn block_end(&mut self) {
        let removed = std::mem::take(&mut self.removed);
        let added = std::mem::take(&mut self.added);
        let mut from_removed = 0;
        let mut from_added = 0;
        for (in_removed, in_added) in kept(&removed, &added) {
            self.take_lines(&removed[from_removed..in_removed], &added[from_added..in_added]);
            self.unchanged(removed[in_removed]);
            (from_removed, from_added) = (in_removed + 1, in_added + 1);
        }
        self.take_lines(&removed[from_removed..], &added[from_added..]);
    }

    fn take_lines(&mut self, removed: &[Digest], added: &[Digest]) {
        if removed.is_empty() && added.is_empty() {
            return;
        }
        self.changed = true;
        if !std::mem::replace(&mut self.anchored, true) {
            self.changes.piece(b"@");
            self.changes.number(self.anchor.map_or(0, |anchor| anchor.0));
        }
        for (sign, lines) in [(b"-", removed), (b"+", added)] {
            for line in lines {
                self.changes.piece(sign);
                self.changes.number(line.0);
            }
        }
    }

    /// Returns the digest of the file's change; `None` if only white space changed.
    pub(super) fn finish(&mut self) -> Option<Digest> {
        self.block_end();
        let mut hasher = PieceHasher::of("file");
        hasher.text(&self.path);
        hasher.number(self.facts);
        hasher.number(self.changes.take().0);
        self.changed.then(|| hasher.take())
    }
}

/// Returns the lines present on both sides, as pairs of positions that increase on both. Greedy, and
/// therefore linear: each added line takes the next equal removed line.
fn kept(removed: &[Digest], added: &[Digest]) -> Vec<(usize, usize)> {
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
