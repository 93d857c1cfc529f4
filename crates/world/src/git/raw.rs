//! Parses `git diff --raw -z`. Pure; any bytes are safe to parse.

use std::path::PathBuf;

use super::object::{DifferenceKind, GitFileMode};
use super::records::{parse_path, split_records};
use super::status::GitParseError;

/// A path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeDifference {
    /// The path, relative to the root.
    pub path: PathBuf,
    /// The original path, if it was renamed or copied.
    pub from: Option<PathBuf>,
    /// The kind of difference.
    pub what: DifferenceKind,
    /// The mode in the old tree.
    pub old: GitFileMode,
    /// The mode in the new tree.
    pub new: GitFileMode,
}

/// Parses a whole list of differences.
pub fn parse_differences(bytes: &[u8]) -> Result<Vec<TreeDifference>, GitParseError> {
    let mut differences = Vec::new();
    let mut records = split_records(bytes);
    while let Some(record) = records.next() {
        let unreadable = GitParseError { after_records: differences.len() };
        differences.push(parse_difference(record, &mut records).ok_or(unreadable)?);
    }
    Ok(differences)
}

fn parse_difference<'a>(
    record: &[u8],
    next: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<TreeDifference> {
    let mut words = record.strip_prefix(b":")?.split(|byte| *byte == b' ');
    let old = GitFileMode::parse(words.next()?)?;
    let new = GitFileMode::parse(words.next()?)?;
    let what = DifferenceKind::parse(*words.nth(2)?.first()?)?;
    let first = parse_path(next.next()?)?;
    let (path, from) = match what {
        DifferenceKind::Renamed | DifferenceKind::Copied => {
            (parse_path(next.next()?)?, Some(first))
        }
        _ => (first, None),
    };
    Some(TreeDifference { path, from, what, old, new })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_difference_is_read() {
        let cases = [
            (":000000 100644 0 1 A|new|", DifferenceKind::Added, "new", None),
            (":100644 000000 1 0 D|gone|", DifferenceKind::Deleted, "gone", None),
            (":100644 100755 1 1 M|tool|", DifferenceKind::Modified, "tool", None),
            (":100644 120000 1 2 T|link|", DifferenceKind::TypeChanged, "link", None),
            (":100644 100644 1 1 R086|old|new|", DifferenceKind::Renamed, "new", Some("old")),
            (":160000 160000 1 2 M|inner|", DifferenceKind::Modified, "inner", None),
        ];
        for (line, what, path, from) in cases {
            let read = parse_differences(line.replace('|', "\0").as_bytes()).unwrap();
            let [difference] = read.as_slice() else { panic!("{line}") };
            assert_eq!(difference.what, what, "{line}");
            assert_eq!(difference.path, PathBuf::from(path));
            assert_eq!(difference.from, from.map(PathBuf::from));
        }
    }

    #[test]
    fn what_is_no_difference_is_refused() {
        assert_eq!(parse_differences(b""), Ok(Vec::new()));
        for bytes in [&b"x\0"[..], b":100644 100644 1 1 R1\0a\0", b":1 2 3 4 M\0a\0", b":\0\0"] {
            assert!(parse_differences(bytes).is_err(), "{:?}", bytes.escape_ascii().to_string());
        }
    }
}
