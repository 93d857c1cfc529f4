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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attempt::diff_file::BLOCK_LINES_MAX;

    /// Returns a file of a diff: its header and hunks, as git writes them.
    fn file(path: &str, body: &str) -> String {
        let old = body.lines().filter(|line| !line.starts_with('+')).count();
        let new = body.lines().filter(|line| !line.starts_with('-')).count();
        format!(
            "diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n\
             @@ -10,{old} +10,{new} @@ fn heading()\n{body}"
        )
    }

    fn digest(diff: &str) -> Option<Digest> {
        diff_digest(diff.as_bytes())
    }

    const FIX: &str = " fn f() {\n-    old(a);\n+    new(a, b);\n }\n";

    #[test]
    fn dress_makes_no_difference() {
        let plain = file("src/a.rs", FIX);
        let cases = [
            ("blobs", plain.replace("1111111..2222222", "abcdef0..fedcba9")),
            ("hunk numbers", plain.replace("@@ -10,", "@@ -700,").replace(" +10,", " +702,")),
            ("heading", plain.replace("fn heading()", "impl Other")),
            ("no prefixes", plain.replace("a/src", "src").replace("b/src", "src")),
            ("other prefixes", plain.replace("a/src", "i/src").replace("b/src", "w/src")),
            ("time stamps", plain.replace("--- a/src/a.rs", "--- a/src/a.rs\t2025-03-04 05:06:07")),
            ("line ends", plain.replace('\n', "\r\n")),
            ("trailing white space", plain.replace("new(a, b);", "new(a, b);  \t")),
            ("inner white space", plain.replace("new(a, b)", "new( a,b )")),
            ("indentation", plain.replace("+    new", "+\tnew")),
            ("no newline at the end", format!("{plain}\\ No newline at end of file\n")),
            ("text before it", format!("warning: rate limit, 401, timeout\n{plain}")),
            ("a blank line", file("src/a.rs", &FIX.replace("+    new", "+\n+    new"))),
        ];
        for (name, other) in cases {
            assert_eq!(digest(&plain), digest(&other), "{name}");
        }
    }

    // B1
    #[test]
    fn meaning_makes_a_difference() {
        let plain = file("src/a.rs", FIX);
        let cases = [
            ("one token", plain.replace("new(a, b)", "new(a, c)")),
            ("a removed token", plain.replace("old(a)", "old(b)")),
            ("a comment", plain.replace("new(a, b);", "new(a, b); // why")),
            ("the file", plain.replace("src/a.rs", "src/b.rs")),
            ("the place", plain.replace(" fn f() {", " fn g() {")),
            ("another file too", plain.clone() + &file("src/b.rs", FIX)),
            (
                "the order",
                file("src/a.rs", &FIX.replace("+    new(a, b);", "+    x();\n+    y();")),
            ),
            (
                "the order",
                file("src/a.rs", &FIX.replace("+    new(a, b);", "+    y();\n+    x();")),
            ),
        ];
        let digests: BTreeSet<_> =
            cases.iter().map(|(_, diff)| digest(diff)).chain([digest(&plain)]).collect();
        assert_eq!(digests.len(), cases.len() + 1, "two of these look the same: {cases:?}");
        assert!(!digests.contains(&None));
    }

    #[test]
    fn white_space_alone_is_no_change() {
        let cases = [
            String::new(),
            "not a diff at all\n".to_owned(),
            file("a.rs", "-f(a,b)\n+f(a, b)\n"),
            file("a.rs", "+\n+   \n"),
            file("a.rs", " x\n-a;\n-b;\n+  a;\n+  b;\n"),
        ];
        for diff in cases {
            assert_eq!(digest(&diff), None, "{diff}");
        }
        let beside = file("a.rs", FIX) + &file("b.rs", "-f(a,b)\n+f(a, b)\n");
        assert_eq!(digest(&beside), digest(&file("a.rs", FIX)));
        assert_eq!(DiffChange::from_diff(beside.as_bytes()).files_changed, 2);
    }

    #[test]
    fn a_line_changed_in_white_space_only_reads_like_an_unchanged_one() {
        let mixed = file("a.rs", " s\n-x(1)\n-a(b,c)\n-y(1)\n+x(2)\n+a( b, c )\n+y(2)\n");
        let apart = file("a.rs", " s\n-x(1)\n+x(2)\n a(b,c)\n-y(1)\n+y(2)\n");
        assert_eq!(digest(&mixed), digest(&apart));
    }

    #[test]
    fn kinds_of_change_count() {
        let head = "diff --git a/x b/x\n";
        let empty = "new file mode 100644\nindex 0000000..e69de29\n";
        let binary = "index 1111111..2222222 100644\nBinary files a/x and b/x differ\n";
        let renamed = "diff --git a/x b/yy\nsimilarity index 100%\nrename from x\nrename to yy\n";
        let cases = [
            format!("{head}old mode 100644\nnew mode 100755\n"),
            format!("{head}{empty}"),
            format!("{head}deleted file mode 100644\nindex e69de29..0000000\n"),
            format!("{head}{binary}"),
            format!("{head}{}", binary.replace("2222222", "3333333")),
            format!("{head}index 1..2\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\n"),
            format!("{head}index 1..2\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~M\n\n"),
            renamed.to_owned(),
            renamed.replace("yy", "zz"),
        ];
        let digests: BTreeSet<_> = cases.iter().map(|diff| digest(diff)).collect();
        assert_eq!(digests.len(), cases.len());
        assert!(!digests.contains(&None));
        assert_eq!(digest(renamed), digest(&renamed.replace("100%", "97%")));
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_a_removed_line() {
        let sql = file("a.sql", "--- a comment\n+-- another comment\n");
        let change = DiffChange::from_diff(sql.as_bytes());
        assert_eq!(change.files, ["a.sql"]);
        assert_ne!(change.digest, digest(&file("a.sql", "--- a comment\n+-- a third\n")));
    }

    #[test]
    fn names_are_few_sorted_and_readable() {
        let names = ["z", "b", "\"a\\303\\244\"", "nul\\l"];
        let diff: String = names.iter().map(|name| file(name, FIX)).collect();
        let change =
            DiffChange::from_diff(diff.replace("b/\"", "\"b/").replace("a/\"", "\"a/").as_bytes());
        assert_eq!(change.files, ["aä", "b", "nul\\l", "z"]);
        assert!(change.touches_path("z") && change.touches_path("aä") && !change.touches_path("y"));

        let many: String = (0..100).map(|n| file(&format!("f{n:03}"), FIX)).collect();
        let change = DiffChange::from_diff(many.as_bytes());
        assert_eq!((change.files.len(), change.files_changed), (FILES_MAX, 100));
        assert_eq!(change.files[0], "f000");
    }

    #[test]
    fn a_large_block_is_taken_in_parts() {
        let lines: Vec<String> = (0..BLOCK_LINES_MAX * 3).map(|n| format!("+line {n}\n")).collect();
        let one = file("a.txt", &lines.concat());
        assert_ne!(digest(&one), digest(&one.replace("line 9999", "line x")));
        assert_eq!(digest(&one), digest(&one.replace("line 9999", "line  9999 ")));
    }

    proptest! {
        #[test]
        fn the_order_of_files_makes_no_difference(
            mut files in prop::collection::vec(("[a-z]{1,6}", "[a-z ]{0,12}", "[a-z]{1,12}"), 1..8)
                .prop_map(|files| files.into_iter()
                    .map(|(path, old, new)| file(&path, &format!(" c\n-{old}\n+{new};\n")))
                    .collect::<Vec<_>>()),
            turns in 0_usize..8,
        ) {
            let straight = files.concat();
            let turns = turns % files.len();
            files.rotate_left(turns);
            files.reverse();
            prop_assert_eq!(digest(&straight), digest(&files.concat()));
        }

        #[test]
        fn one_changed_token_differs(
            before in "[a-z]{0,9}", token in "[a-z]{1,9}", other in "[a-z]{1,9}",
        ) {
            prop_assume!(token != other);
            let with = |token: &str| file("a.rs", &format!(" c\n-{before}\n+{before}({token})\n"));
            prop_assert_ne!(digest(&with(&token)), digest(&with(&other)));
        }

        #[test]
        fn chunks_make_no_difference_even_to_hostile_bytes(
            noise in prop::collection::vec(any::<u8>(), 0..200),
            pieces in prop::collection::vec(prop::sample::select(vec![
                "diff --git a/x b/x\n", "--- a/x\n", "+++ b/x\n", "@@ -1,2 +1,2 @@\n", "@@ -1 +1 @@\n",
                " c\n", "-a\n", "+b\n", "\\ No newline\n", "\n", "rename to \"\\3", "index 1..",
                "GIT binary patch\n", "@@ -9999999999,9 +1 @@", "Binary files ",
            ]), 0..40),
            size in 1_usize..50,
        ) {
            let diff: Vec<u8> =
                pieces.concat().into_bytes().into_iter().chain(noise).collect();
            let mut reader = DiffReader::default();
            for chunk in diff.chunks(size) {
                reader.push(chunk);
            }
            prop_assert_eq!(reader.finish(), DiffChange::from_diff(&diff));
        }
    }
}
