//! Reads `git status --porcelain=v2 -z`. Parsing is pure, and any bytes are safe to parse.

use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::object::{DifferenceKind, GitFileMode};
use super::records::{parse_path, split_records};

/// An entry of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusEntry {
    /// A tracked path that differs.
    Changed(Box<ChangedEntry>),
    /// A path with a conflict.
    Unmerged {
        /// The path, relative to the root.
        path: PathBuf,
    },
    /// An untracked path.
    Untracked {
        /// The path, relative to the root, without a `/` at its end.
        path: PathBuf,
        /// `true` for a nested repository, which git does not look into and lists with a `/` at its
        /// end.
        repository: bool,
    },
    /// A path that git ignores.
    Ignored {
        /// The path, relative to the root.
        path: PathBuf,
    },
}

impl StatusEntry {
    /// Returns the path, relative to the root.
    pub fn relative_path(&self) -> &Path {
        match self {
            Self::Changed(changed) => &changed.path,
            Self::Unmerged { path } | Self::Untracked { path, .. } | Self::Ignored { path } => path,
        }
    }
}

/// A tracked path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedEntry {
    /// The path, relative to the root.
    pub path: PathBuf,
    /// The original path, if it was renamed or copied.
    pub from: Option<PathBuf>,
    /// The difference between the last commit and the index, if any.
    pub staged: Option<DifferenceKind>,
    /// The difference between the index and the working tree, if any.
    pub unstaged: Option<DifferenceKind>,
    /// The mode in the last commit.
    pub head: GitFileMode,
    /// The mode in the index.
    pub index: GitFileMode,
    /// The mode in the working tree.
    pub worktree: GitFileMode,
    /// The differences within it, if it is a submodule.
    pub submodule: Option<SubmoduleChanges>,
}

/// The differences of a submodule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmoduleChanges {
    /// `true` if another commit is checked out.
    pub commit: bool,
    /// `true` if tracked files in it are changed.
    pub modified: bool,
    /// `true` if it has untracked files.
    pub untracked: bool,
}

/// The error for bytes that are no valid list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitParseError {
    /// Number of records that were parsed before.
    pub after_records: usize,
}

impl Git {
    /// Returns the differences between the last commit, the index and the working tree, without
    /// rename detection. Lists every new file, not just its folder. Of a submodule only the commit
    /// counts: looking further would start a git there, with the settings that an agent left in it.
    pub async fn status(&self) -> Result<Vec<StatusEntry>, Fault> {
        let call = self.call(GitAction::Status).args(["status", "--porcelain=v2", "-z"]);
        let call =
            call.args(["--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"]);
        let done = call.run().await?;
        parse_status(&done.stdout).map_err(|_| self.unreadable_fault(GitAction::Status))
    }
}

/// Parses a whole status.
pub fn parse_status(bytes: &[u8]) -> Result<Vec<StatusEntry>, GitParseError> {
    let mut entries = Vec::new();
    let mut records = split_records(bytes);
    while let Some(record) = records.next() {
        let unreadable = GitParseError { after_records: entries.len() };
        match record.split_first() {
            Some((b'#', _)) => {}
            Some(_) => entries.push(parse_entry(record, &mut records).ok_or(unreadable)?),
            None => return Err(unreadable),
        }
    }
    Ok(entries)
}

fn parse_entry<'a>(
    record: &'a [u8],
    next: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<StatusEntry> {
    let (kind, rest) = record.split_at_checked(2)?;
    match kind {
        b"1 " => parse_changed(rest, None),
        b"2 " => parse_changed(rest, Some(parse_path(next.next()?)?)),
        b"u " => Some(StatusEntry::Unmerged { path: parse_path(split_fields::<9>(rest)?.1)? }),
        b"? " => {
            let repository = rest.ends_with(b"/");
            let name = rest.strip_suffix(b"/").unwrap_or(rest);
            Some(StatusEntry::Untracked { path: parse_path(name)?, repository })
        }
        b"! " => Some(StatusEntry::Ignored {
            path: parse_path(rest.strip_suffix(b"/").unwrap_or(rest))?,
        }),
        _ => None,
    }
}

/// Parses the submodule field: `N...`, or `S` with a letter or a dot for each kind of difference.
#[expect(clippy::option_option, reason = "no status, no submodule, and a submodule")]
fn parse_submodule(field: &[u8]) -> Option<Option<SubmoduleChanges>> {
    match field {
        [b'N', ..] => Some(None),
        [b'S', commit, modified, untracked] => Some(Some(SubmoduleChanges {
            commit: *commit == b'C',
            modified: *modified == b'M',
            untracked: *untracked == b'U',
        })),
        _ => None,
    }
}

fn parse_changed(rest: &[u8], from: Option<PathBuf>) -> Option<StatusEntry> {
    let ([states, submodule, head, index, worktree, _, _], mut name) = split_fields::<7>(rest)?;
    if from.is_some() {
        // The similarity score of the two paths.
        name = split_fields::<1>(name)?.1;
    }
    let [staged, unstaged] = states else { return None };
    Some(StatusEntry::Changed(Box::new(ChangedEntry {
        path: parse_path(name)?,
        from,
        staged: parse_state(*staged)?,
        unstaged: parse_state(*unstaged)?,
        head: GitFileMode::parse(head)?,
        index: GitFileMode::parse(index)?,
        worktree: GitFileMode::parse(worktree)?,
        submodule: parse_submodule(submodule)?,
    })))
}

/// Splits off the first `N` words, and returns them and the rest.
fn split_fields<const N: usize>(mut rest: &[u8]) -> Option<([&[u8]; N], &[u8])> {
    let mut words = [&rest[..0]; N];
    for word in &mut words {
        let at = rest.iter().position(|byte| *byte == b' ')?;
        (*word, rest) = (&rest[..at], &rest[at + 1..]);
    }
    Some((words, rest))
}

#[expect(clippy::option_option, reason = "no state, no difference, and a difference")]
fn parse_state(letter: u8) -> Option<Option<DifferenceKind>> {
    if letter == b'.' { Some(None) } else { DifferenceKind::parse(letter).map(Some) }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    const NAME: &str = "1111111111111111111111111111111111111111";

    fn one(record: &str) -> Option<StatusEntry> {
        let bytes = record.replace("OID", NAME).replace('|', "\0");
        parse_status(bytes.as_bytes()).ok().and_then(|mut entries| entries.pop())
    }

    #[test]
    fn each_kind_of_line_is_read() {
        let Some(StatusEntry::Changed(modified)) =
            one("1 .M N... 100644 100644 100755 OID OID a b\n|")
        else {
            panic!()
        };
        assert_eq!(modified.path, PathBuf::from("a b\n"));
        assert_eq!((modified.staged, modified.unstaged), (None, Some(DifferenceKind::Modified)));
        assert_eq!(
            (modified.index, modified.worktree),
            (GitFileMode::File, GitFileMode::Executable)
        );
        let Some(StatusEntry::Changed(renamed)) =
            one("2 R. N... 100644 100644 100644 OID OID R100 new name|old name|")
        else {
            panic!()
        };
        assert_eq!(renamed.path, PathBuf::from("new name"));
        assert_eq!(renamed.from, Some(PathBuf::from("old name")));
        let unmerged = one("u UU N... 100644 100644 100644 100644 OID OID OID both|");
        assert_eq!(unmerged, Some(StatusEntry::Unmerged { path: "both".into() }));
        let new = one("? new|");
        assert_eq!(new, Some(StatusEntry::Untracked { path: "new".into(), repository: false }));
        let inner = one("? inner/|");
        assert_eq!(inner, Some(StatusEntry::Untracked { path: "inner".into(), repository: true }));
        assert_eq!(one("! out/|"), Some(StatusEntry::Ignored { path: "out".into() }));
        assert_eq!(one("# branch.oid (initial)|"), None);
    }

    #[test]
    fn names_are_bytes() {
        let entries = parse_status(b"? caf\xe9 \xff\0").unwrap();
        let name = OsStr::from_bytes(b"caf\xe9 \xff");
        assert_eq!(entries, [StatusEntry::Untracked { path: name.into(), repository: false }]);
    }

    #[test]
    fn nothing_is_an_empty_status_and_half_a_line_is_none() {
        assert_eq!(parse_status(b""), Ok(Vec::new()));
        let broken: [&[u8]; 8] = [
            b"x",
            b"\0",
            b"? \0",
            b"1 .M N... 100644\0",
            b"1 .M N... 100644 100644 10064x a b path\0",
            b"1 .? N... 100644 100644 100644 a b path\0",
            b"2 R. N... 100644 100644 100644 a b R100 new\0",
            b"? good\0nonsense\0",
        ];
        for bytes in broken {
            assert!(parse_status(bytes).is_err(), "{:?}", bytes.escape_ascii().to_string());
        }
    }
}
