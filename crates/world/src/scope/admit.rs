//! Checks one path, before a tool touches it.
//!
//! The guarantee: at the time of the check, the path, with every link on its way followed, is
//! inside the worktree and inside the scope, and a file to be written has no second name. It does
//! not guarantee that no folder becomes a link between the check and the tool's own access. The
//! later check of the difference from the base covers that, and the sandbox covers everything
//! outside the worktree.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use unstuck_core::fault::{Fault, Permission};

use super::scope::{PathScope, SOURCE, ScopeVerdict, is_private};

/// The kind of access to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess {
    /// Reading. The scope is about changes, so only leaving the worktree is refused.
    Read,
    /// Writing.
    Write,
}

impl PathScope {
    /// Returns the real path of `path` within the worktree at `root`, if a tool may access it.
    ///
    /// A path may be relative to the root, or absolute and below it. Links are followed as long as
    /// they stay inside, and the scope judges their target.
    pub fn admit_path(
        &self,
        root: &Path,
        path: &Path,
        access: PathAccess,
    ) -> Result<PathBuf, Fault> {
        let refused = |why: &str| refusal_fault(path, why);
        let root =
            fs::canonicalize(root).map_err(|error| refused("no worktree").with_cause(error))?;
        let wanted = path.strip_prefix(&root).unwrap_or(path);
        if !wanted.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return Err(refused("leaves the worktree"));
        }
        if is_private(wanted) {
            return Err(refused("belongs to git or to Unstuck"));
        }
        let (real, found) = follow_links(&root.join(wanted))
            .map_err(|error| refused("cannot be followed to its end").with_cause(error))?;
        let Ok(inside) = real.strip_prefix(&root).map(Path::to_owned) else {
            return Err(refused("leads out of the worktree"));
        };
        if is_private(&inside) {
            return Err(refused("leads to what belongs to git or to Unstuck"));
        }
        if access == PathAccess::Write {
            if found.is_some_and(|found| found.is_file() && found.nlink() > 1) {
                return Err(refused("has a second name, perhaps outside the worktree"));
            }
            // Paths that need the operator's approval are asked about when the work is done, as
            // with an agent program: the operator then sees all of them in one question.
            let verdict = self.judge_paths([inside.as_path()]);
            if let Some(fault) = (ScopeVerdict { ask: Vec::new(), ..verdict }).to_fault(None) {
                return Err(fault);
            }
        }
        Ok(inside)
    }
}

/// Returns the path that is meant by `path` in `folder`, without `.` and `..`; `None` if it is
/// absolute or leads out of the folder that `folder` is relative to.
pub fn resolve_in_folder(folder: &Path, path: &Path) -> Option<PathBuf> {
    let mut plain = folder.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

fn refusal_fault(path: &Path, why: &str) -> Fault {
    let what = path.display().to_string();
    Fault::permission_file_access(
        SOURCE,
        format!("{what} {why}"),
        Permission { what, ..Permission::default() },
    )
}

/// Resolves a path, and returns its metadata. A missing file is resolved from its nearest folder.
fn follow_links(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    match fs::symlink_metadata(path) {
        Ok(_) => {
            // A dangling link fails here, and rightly: writing would create its target.
            let real = fs::canonicalize(path)?;
            let found = fs::metadata(&real)?;
            Ok((real, Some(found)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(error);
            };
            let (folder, _) = follow_links(folder)?;
            Ok((folder.join(name), None))
        }
        Err(error) => Err(error),
    }
}
