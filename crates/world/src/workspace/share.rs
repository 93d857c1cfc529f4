//! Paths that worktrees share with the person's own tree: build folders, local settings.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use unstuck_core::fault::{Config, Fault};

use super::state::failed;
use super::workspace::Workspace;
use crate::scope::{Rules, Scope, Standing};

impl Workspace {
    /// Puts shared paths into the worktree: a link to a folder, a copy of a file. What is there
    /// already, and what the person does not have, is left alone.
    pub(super) fn share(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        put(&self.project.root, &self.directory, &self.shared)
    }
}

/// Puts what worktrees share with the person's tree at `root` into another folder.
pub fn share(root: &Path, directory: &Path, paths: &[String]) -> Result<(), Fault> {
    put(root, directory, &shareable(paths)?)
}

fn put(root: &Path, directory: &Path, paths: &[PathBuf]) -> Result<(), Fault> {
    for path in paths {
        let (from, to) = (root.join(path), directory.join(path));
        let Ok(found) = fs::metadata(&from) else { continue };
        if fs::symlink_metadata(&to).is_ok() {
            continue;
        }
        let put = || {
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            if found.is_dir() { symlink(&from, &to) } else { fs::copy(&from, &to).map(drop) }
        };
        put().map_err(|error| failed(&to, &error))?;
    }
    Ok(())
}

/// Shared paths, if they are inside the project and nobody's private business.
pub(super) fn shareable(paths: &[String]) -> Result<Vec<PathBuf>, Fault> {
    // Without rules, everything stands inside but what leaves the project or belongs to git and us.
    let open = Scope::new(&Rules::default()).ok();
    let inside = |path: &Path| open.as_ref().map(|open| open.standing(path));
    paths
        .iter()
        .map(|path| match inside(Path::new(path)) {
            Some(Standing::Inside) => Ok(PathBuf::from(path)),
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
