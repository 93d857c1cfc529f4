//! Parses `git diff --raw -z`. Pure; any bytes are safe to parse.

use std::path::PathBuf;

use super::mode::Mode;
use super::status::{Unreadable, path, records};

/// The kind of difference of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The path is new.
    Added,
    /// The path is deleted.
    Deleted,
    /// The content or the mode changed.
    Modified,
    /// The path became another kind of object.
    TypeChanged,
    /// The path was renamed from another.
    Renamed,
    /// The path was copied from another.
    Copied,
    /// The path has a conflict.
    Unmerged,
}

/// A path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path, relative to the root.
    pub path: PathBuf,
    /// The original path, if it was renamed or copied.
    pub from: Option<PathBuf>,
    /// The kind of difference.
    pub what: What,
    /// The mode in the old tree.
    pub old: Mode,
    /// The mode in the new tree.
    pub new: Mode,
}

/// Parses a whole list of differences.
pub fn parse(bytes: &[u8]) -> Result<Vec<Difference>, Unreadable> {
    let mut differences = Vec::new();
    let mut records = records(bytes);
    while let Some(record) = records.next() {
        let unreadable = Unreadable { after_records: differences.len() };
        differences.push(difference(record, &mut records).ok_or(unreadable)?);
    }
    Ok(differences)
}

fn difference<'a>(record: &[u8], next: &mut impl Iterator<Item = &'a [u8]>) -> Option<Difference> {
    let mut words = record.strip_prefix(b":")?.split(|byte| *byte == b' ');
    let old = Mode::read(words.next()?)?;
    let new = Mode::read(words.next()?)?;
    let what = what(*words.nth(2)?.first()?)?;
    let first = path(next.next()?)?;
    let (path, from) = match what {
        What::Renamed | What::Copied => (path(next.next()?)?, Some(first)),
        _ => (first, None),
    };
    Some(Difference { path, from, what, old, new })
}

const fn what(letter: u8) -> Option<What> {
    Some(match letter {
        b'A' => What::Added,
        b'D' => What::Deleted,
        b'M' => What::Modified,
        b'T' => What::TypeChanged,
        b'R' => What::Renamed,
        b'C' => What::Copied,
        b'U' => What::Unmerged,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_difference_is_read() {
        let cases = [
            (":000000 100644 0 1 A|new|", What::Added, "new", None),
            (":100644 000000 1 0 D|gone|", What::Deleted, "gone", None),
            (":100644 100755 1 1 M|tool|", What::Modified, "tool", None),
            (":100644 120000 1 2 T|link|", What::TypeChanged, "link", None),
            (":100644 100644 1 1 R086|old|new|", What::Renamed, "new", Some("old")),
            (":160000 160000 1 2 M|inner|", What::Modified, "inner", None),
        ];
        for (line, what, path, from) in cases {
            let read = parse(line.replace('|', "\0").as_bytes()).unwrap();
            let [difference] = read.as_slice() else { panic!("{line}") };
            assert_eq!(difference.what, what, "{line}");
            assert_eq!(difference.path, PathBuf::from(path));
            assert_eq!(difference.from, from.map(PathBuf::from));
        }
    }

    #[test]
    fn what_is_no_difference_is_refused() {
        assert_eq!(parse(b""), Ok(Vec::new()));
        for bytes in [&b"x\0"[..], b":100644 100644 1 1 R1\0a\0", b":1 2 3 4 M\0a\0", b":\0\0"] {
            assert!(parse(bytes).is_err(), "{:?}", bytes.escape_ascii().to_string());
        }
    }
}
