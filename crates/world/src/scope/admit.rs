//! One path, before a tool touches it.
//!
//! What is promised: at the moment of looking, the path, with every link on its way followed, lies
//! inside the worktree and inside the fence, and what would be written has no second name. What is
//! not: that nobody changes a folder into a link between this look and the tool's own. That is what
//! the check of the difference from the base afterwards is for, and the sandbox for what lies
//! outside the worktree.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use unstuck_core::fault::{Fault, Permission};

use super::private::is_private;
use super::scope::Scope;
use super::verdict::{SOURCE, Verdict};

/// What a tool wants with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To see what is there. The fence is about changes, so only leaving the worktree is refused.
    Read,
    /// To change it.
    Write,
}

impl Scope {
    /// The real place of `path` within the worktree at `root`, if a tool may touch it.
    ///
    /// A path may be relative to the root, or absolute and below it. Links are followed as long as
    /// they stay inside, and the fence judges where they lead.
    pub fn admit(&self, root: &Path, path: &Path, access: Access) -> Result<PathBuf, Fault> {
        let refused = |why: &str| refuse(path, why);
        let root =
            fs::canonicalize(root).map_err(|error| refused("no worktree").caused_by(error))?;
        let wanted = path.strip_prefix(&root).unwrap_or(path);
        if !wanted.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return Err(refused("leaves the worktree"));
        }
        if is_private(wanted) {
            return Err(refused("belongs to git or to Unstuck"));
        }
        let (real, found) = follow(&root.join(wanted))
            .map_err(|error| refused("cannot be followed to its end").caused_by(error))?;
        let Ok(inside) = real.strip_prefix(&root).map(Path::to_owned) else {
            return Err(refused("leads out of the worktree"));
        };
        if is_private(&inside) {
            return Err(refused("leads to what belongs to git or to Unstuck"));
        }
        if access == Access::Write {
            if found.is_some_and(|found| found.is_file() && found.nlink() > 1) {
                return Err(refused("has a second name, perhaps outside the worktree"));
            }
            // What a person has to be asked about is asked when the work is done, as with an agent
            // program: they see all of it in one question.
            let verdict = self.judge([inside.as_path()]);
            if let Some(fault) = (Verdict { ask: Vec::new(), ..verdict }).fault(None) {
                return Err(fault);
            }
        }
        Ok(inside)
    }
}

fn refuse(path: &Path, why: &str) -> Fault {
    let what = path.display().to_string();
    Fault::permission_file_access(
        SOURCE,
        format!("{what} {why}"),
        Permission { what, ..Permission::default() },
    )
}

/// Where a path leads, and what is there. What does not exist yet counts from its nearest folder.
fn follow(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    match fs::symlink_metadata(path) {
        Ok(_) => {
            // A link that leads nowhere fails here, and rightly: writing would make its target.
            let real = fs::canonicalize(path)?;
            let found = fs::metadata(&real)?;
            Ok((real, Some(found)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(error);
            };
            let (folder, _) = follow(folder)?;
            Ok((folder.join(name), None))
        }
        Err(error) => Err(error),
    }
}
