//! What checks leave in a worktree, and its removal before a red check is run again.
//!
//! A check may pass only where it has not run before: it makes a folder or a database and does not
//! remove it. By-products of tools stay, so that builds stay fast, and so does what setup made.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::footprint::Footprint;
use super::state::io_fault;
use super::workspace::Workspace;
use crate::regular_file::allow_missing;

impl Workspace {
    /// Removes the files that checks have left in the worktree, now and in earlier runs, with the
    /// folders that are empty then, and returns them. Removes nothing in the operator's own
    /// working tree.
    pub async fn remove_check_leftovers(&self) -> Result<Vec<PathBuf>, Fault> {
        if self.in_place {
            return Ok(Vec::new());
        }
        let Some(mark) = self.read_mark()? else { return Ok(Vec::new()) };
        let mut left = self.list_check_leftovers(&mark).await?;
        left.extend(self.list_ignored_of_checks().await?);
        for path in &left {
            let file = self.directory.join(path);
            allow_missing(fs::remove_file(&file)).map_err(|error| io_fault(&file, &error))?;
            self.remove_empty_folders(path);
        }
        Ok(left)
    }

    /// Returns the new files of checks: those that were not there when the checks began, and those
    /// that are known to be of earlier ones.
    async fn list_check_leftovers(&self, mark: &Footprint) -> Result<Vec<PathBuf>, Fault> {
        let known = self.read_footprint()?;
        let named = self.read_named_paths()?;
        let now = self.compare_with_index(&self.git_with_base_index()).await?;
        let work: BTreeSet<PathBuf> =
            self.list_changes().await?.into_iter().map(|change| change.path).collect();
        let is_of_check = |path: &PathBuf| {
            let is_new = !mark.has_made(path);
            is_new || known.is_left_by_check(path) && !work.contains(path)
        };
        let is_named = |path: &PathBuf| named.contains(path.as_os_str().as_bytes());
        Ok(now.into_made().filter(|path| is_of_check(path) && !is_named(path)).collect())
    }

    /// Removes the folders above a path that are empty.
    fn remove_empty_folders(&self, path: &Path) {
        let above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        for folder in above {
            // A folder that holds something stays.
            if fs::remove_dir(self.directory.join(folder)).is_err() {
                return;
            }
        }
    }
}
