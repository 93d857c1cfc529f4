//! Parses `git worktree list --porcelain -z`. Pure; any bytes are safe to parse.

use std::path::PathBuf;

use super::oid::Oid;
use super::status::{GitParseError, parse_path};

/// A working tree of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// The root of the working tree.
    pub path: PathBuf,
    /// The commit that is checked out; `None` in a bare repository.
    pub head: Option<Oid>,
    /// The full name of the branch that is checked out; `None` for a detached head.
    pub branch: Option<String>,
    /// `true` if the entry stands for a repository without a working tree.
    pub bare: bool,
}

/// Parses a whole list. Skips attributes that newer versions of git add.
pub fn parse_worktrees(bytes: &[u8]) -> Result<Vec<Worktree>, GitParseError> {
    let mut worktrees: Vec<Worktree> = Vec::new();
    for line in bytes.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let unreadable = GitParseError { after_records: worktrees.len() };
        if let Some(name) = line.strip_prefix(b"worktree ") {
            let path = parse_path(name).ok_or(unreadable)?;
            worktrees.push(Worktree { path, ..Worktree::default() });
            continue;
        }
        let worktree = worktrees.last_mut().ok_or(unreadable)?;
        if let Some(head) = line.strip_prefix(b"HEAD ") {
            worktree.head = Some(Oid::parse(head).ok_or(unreadable)?);
        } else if let Some(branch) = line.strip_prefix(b"branch ") {
            worktree.branch = Some(String::from_utf8_lossy(branch).into_owned());
        } else if line == b"bare" {
            worktree.bare = true;
        }
    }
    Ok(worktrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_nonsense_is_not() {
        let oid = "1".repeat(40);
        let list = format!(
            "worktree /a b|HEAD {oid}|branch refs/heads/main||worktree /c|bare||\
             worktree /d|HEAD {oid}|detached|locked why|prunable gone||"
        );
        let worktrees = parse_worktrees(list.replace('|', "\0").as_bytes()).unwrap();
        let [main, bare, detached] = worktrees.as_slice() else { panic!("{worktrees:?}") };
        assert_eq!(main.branch.as_deref(), Some("refs/heads/main"));
        assert_eq!(main.path, PathBuf::from("/a b"));
        assert!(bare.bare && bare.head.is_none());
        assert_eq!((&detached.branch, detached.head.is_some()), (&None, true));
        assert!(parse_worktrees(b"HEAD x\0").is_err());
        assert!(parse_worktrees(b"worktree /a\0HEAD x\0").is_err());
    }
}
