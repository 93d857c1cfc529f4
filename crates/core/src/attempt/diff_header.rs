//! The lines of a git diff between its hunks, and the length of a hunk.
//!
//! Git's format is a wire format: it is parsed here once into typed values.

/// A line between hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DiffHeader {
    /// `diff --git a/x b/x`, with the path if it is the same on both sides.
    File(Option<Vec<u8>>),
    /// `--- a/x`; `None` for `/dev/null`.
    OldPath(Option<Vec<u8>>),
    /// `+++ b/x`; `None` for `/dev/null`.
    NewPath(Option<Vec<u8>>),
    /// `rename from x`, `copy from x`.
    RenamedFrom(Vec<u8>),
    /// `rename to x`, `copy to x`.
    RenamedTo(Vec<u8>),
    /// `index 12ab..34cd 100644`: the blobs, shortened to the same length.
    Index(Vec<u8>),
    /// `Binary files a/x and b/x differ`.
    Binary,
    /// `GIT binary patch`: its data follows.
    BinaryPatch,
    /// A line of such data.
    PatchData(Vec<u8>),
    /// `@@ -1,2 +3,4 @@ …`.
    Hunk(Hunk),
    /// A line with a fact about the file: modes, creation, deletion, anything unknown.
    Fact(Vec<u8>),
    /// A line without information about the change.
    Noise,
}

/// Number of remaining lines of a hunk on each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    old: u64,
    new: u64,
}

/// Minimum number of digits to which git shortens blob names.
const BLOB_DIGITS: usize = 7;

impl DiffHeader {
    /// Parses a line. `in_patch_data` says whether data of a binary patch may occur here.
    pub(super) fn parse(line: &[u8], in_patch_data: bool) -> Self {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        if let Some(paths) = after("diff --git ") {
            return Self::File(same_path(paths));
        }
        if in_patch_data {
            return Self::PatchData(line.to_vec());
        }
        if let Some(path) = after("--- ") {
            return Self::OldPath(prefixed_path(path));
        }
        if let Some(path) = after("+++ ") {
            return Self::NewPath(prefixed_path(path));
        }
        if let Some(path) = after("rename from ").or_else(|| after("copy from ")) {
            return Self::RenamedFrom(unquote_path(path));
        }
        if let Some(path) = after("rename to ").or_else(|| after("copy to ")) {
            return Self::RenamedTo(unquote_path(path));
        }
        if let Some(blobs) = after("index ") {
            return Self::Index(shorten_blobs(blobs));
        }
        if let Some(ranges) = after("@@ -") {
            return Hunk::parse_ranges(ranges)
                .map_or_else(|| Self::Fact(line.to_vec()), Self::Hunk);
        }
        if after("Binary files ").is_some() {
            return Self::Binary;
        }
        if line == b"GIT binary patch" {
            return Self::BinaryPatch;
        }
        let noise = ["similarity index ", "dissimilarity index ", "\\ "];
        if line.trim_ascii().is_empty() || noise.iter().any(|prefix| after(prefix).is_some()) {
            return Self::Noise;
        }
        Self::Fact(line.trim_ascii_end().to_vec())
    }
}

impl Hunk {
    /// Parses `1,2 +3,4 @@ …`; a missing length is 1.
    fn parse_ranges(ranges: &[u8]) -> Option<Self> {
        let end = ranges.windows(3).position(|three| three == b" @@")?;
        let ranges = std::str::from_utf8(&ranges[..end]).ok()?;
        let (old, new) = ranges.split_once(" +")?;
        let length = |range: &str| match range.split_once(',') {
            Some((_, length)) => length.parse().ok(),
            None => Some(1),
        };
        Some(Self { old: length(old)?, new: length(new)? })
    }

    /// Returns the remaining hunk after a line that starts with `first`, and the length of the line's prefix.
    /// `None` if no line of this hunk starts so, or none is left.
    pub(super) fn after_line(self, first: u8) -> Option<(Self, usize)> {
        if first == b'\\' {
            return Some((self, 1));
        }
        if self.old == 0 && self.new == 0 {
            return None;
        }
        let less = |old, new| Self {
            old: self.old.saturating_sub(old),
            new: self.new.saturating_sub(new),
        };
        match first {
            b'+' => Some((less(0, 1), 1)),
            b'-' => Some((less(1, 0), 1)),
            b' ' => Some((less(1, 1), 1)),
            // Mailers and editors strip the space of an empty unchanged line.
            b'\n' | b'\r' => Some((less(1, 1), 0)),
            _ => None,
        }
    }
}

/// Returns the path in `a/x b/x`, which is unambiguous only if both sides agree.
fn same_path(paths: &[u8]) -> Option<Vec<u8>> {
    let middle = paths.len() / 2;
    let one = paths.get(..middle)?;
    let other = paths.get(middle + 1..)?;
    let one = prefixed_path(one)?;
    let other = prefixed_path(other)?;
    (one == other).then_some(one)
}

/// Returns a path without git's one-letter prefix and without the time stamp after a tab.
fn prefixed_path(path: &[u8]) -> Option<Vec<u8>> {
    let path = path.split(|b| *b == b'\t').next().unwrap_or_default();
    let path = unquote_path(path.trim_ascii_end());
    if path == b"/dev/null" {
        return None;
    }
    let prefix = matches!(path.as_slice(), [b'a' | b'b' | b'c' | b'i' | b'o' | b'w', b'/', _, ..]);
    Some(if prefix { path[2..].to_vec() } else { path })
}

/// Unquotes a path; git writes unusual bytes in quotes, as `\t`, `\"` or three octal digits.
fn unquote_path(path: &[u8]) -> Vec<u8> {
    let Some(inner) = path.strip_prefix(b"\"").and_then(|p| p.strip_suffix(b"\"")) else {
        return path.to_vec();
    };
    let mut plain = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            plain.push(first);
            continue;
        }
        let octal = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            plain.push(byte);
            rest = &rest[3..];
        } else if let Some((&letter, after)) = rest.split_first() {
            plain.push(match letter {
                b't' => b'\t',
                b'n' => b'\n',
                b'r' => b'\r',
                other => other,
            });
            rest = after;
        }
    }
    plain
}

fn shorten_blobs(blobs: &[u8]) -> Vec<u8> {
    let blobs = blobs.split(|b| *b == b' ').next().unwrap_or_default();
    let mut short = Vec::new();
    for blob in blobs.split(|b| *b == b'.') {
        short.extend_from_slice(&blob[..blob.len().min(BLOB_DIGITS)]);
        short.push(b'.');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path<T: From<Vec<u8>>>(text: &str) -> T {
        text.as_bytes().to_vec().into()
    }

    #[test]
    fn lines_between_hunks_become_typed() {
        let cases: Vec<(&str, DiffHeader)> = vec![
            ("diff --git a/src/x.rs b/src/x.rs", DiffHeader::File(path("src/x.rs"))),
            ("diff --git a/my file b/my file", DiffHeader::File(path("my file"))),
            ("diff --git a/old b/newer", DiffHeader::File(None)),
            ("diff --git \"a/\\303\\244\" \"b/\\303\\244\"", DiffHeader::File(path("ä"))),
            ("--- a/x\t2025-03-04 05:06:07 +0000", DiffHeader::OldPath(path("x"))),
            ("--- /dev/null", DiffHeader::OldPath(None)),
            ("+++ b/x y\t", DiffHeader::NewPath(path("x y"))),
            ("+++ x.rs\r", DiffHeader::NewPath(path("x.rs"))),
            ("rename from \"a\\tb\"", DiffHeader::RenamedFrom(b"a\tb".to_vec())),
            ("copy to b", DiffHeader::RenamedTo(b"b".to_vec())),
            (
                "index 0123456789..abcdef0123 100644",
                DiffHeader::Index(b"0123456..abcdef0.".to_vec()),
            ),
            ("@@ -1,2 +3 @@ fn f()", DiffHeader::Hunk(Hunk { old: 2, new: 1 })),
            ("@@ -x +y @@", DiffHeader::Hunk(Hunk { old: 1, new: 1 })),
            ("@@ -1,99999999999999999999 +1 @@", {
                DiffHeader::Fact(b"@@ -1,99999999999999999999 +1 @@".to_vec())
            }),
            ("Binary files a/x and b/x differ", DiffHeader::Binary),
            ("similarity index 90%", DiffHeader::Noise),
            ("new mode 100755", DiffHeader::Fact(b"new mode 100755".to_vec())),
            ("", DiffHeader::Noise),
        ];
        for (line, expected) in cases {
            assert_eq!(DiffHeader::parse(line.as_bytes(), false), expected, "{line}");
        }
    }

    #[test]
    fn a_hunk_ends_after_its_lines() {
        let hunk = Hunk { old: 1, new: 1 };
        let (hunk, _) = hunk.after_line(b'-').unwrap();
        let (hunk, _) = hunk.after_line(b'+').unwrap();
        assert_eq!(hunk.after_line(b'-'), None);
        assert!(hunk.after_line(b'\\').is_some());
    }
}
