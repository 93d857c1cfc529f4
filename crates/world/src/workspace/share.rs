//! Paths that worktrees share with the operator's own tree: build folders, local settings.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use unstuck_core::fault::{Config, Fault};

use super::state::io_fault;
use super::workspace::Workspace;
use crate::scope::{PathScope, PathVerdict, ScopeRules};

impl Workspace {
    /// Puts shared paths into the worktree: a link to a folder, a copy of a file. Skips paths that
    /// exist already and those that the operator's tree does not have.
    pub(super) fn share_paths(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        place_shared_paths(&self.project.root, &self.directory, &self.shared)
    }
}

/// Puts the shared paths of the operator's tree at `root` into another folder.
pub fn share_into(root: &Path, directory: &Path, paths: &[String]) -> Result<(), Fault> {
    place_shared_paths(root, directory, &require_shareable(paths)?)
}

fn place_shared_paths(root: &Path, directory: &Path, paths: &[PathBuf]) -> Result<(), Fault> {
    for path in paths {
        let from = root.join(path);
        let to = directory.join(path);
        let Ok(found) = fs::metadata(&from) else { continue };
        if fs::symlink_metadata(&to).is_ok() {
            continue;
        }
        let put = || {
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            if found.is_dir() { symlink(&from, &to) } else { fs::copy(&from, &to).map(drop) }
        };
        put().map_err(|error| io_fault(&to, &error))?;
    }
    Ok(())
}

/// Parses shared paths; one that is outside the project, or belongs to git or Unstuck, is
/// `CONFIG_INVALID`.
pub(super) fn require_shareable(paths: &[String]) -> Result<Vec<PathBuf>, Fault> {
    // A scope without rules admits all paths except those outside the project or of git and
    // Unstuck.
    let open = PathScope::new(&ScopeRules::default()).ok();
    let inside = |path: &Path| open.as_ref().map(|open| open.judge_path(path));
    paths
        .iter()
        .map(|path| match inside(Path::new(path)) {
            Some(PathVerdict::Inside) => Ok(PathBuf::from(path)),
            _ => {
                let message = format!("{path} cannot be shared: it is not inside the project");
                let field = Some("run.share".to_owned());
                Err(Fault::config_invalid(
                    "workspace",
                    message,
                    Config { field, ..Config::default() },
                ))
            }
        })
        .collect()
}
