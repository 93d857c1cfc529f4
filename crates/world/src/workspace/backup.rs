//! A backup of the operator's repository, made before agents begin.
//!
//! Refs are kept under `refs/unstuck/backup/<build>`; settings, hooks, the checked-out branch and
//! the list of packed refs as copies; objects and logs as hard links, which take no space and
//! outlive the original name. Files that an unsandboxed agent removed are restored after the
//! attempt. Where the file system has no hard links, or the two folders are on different ones,
//! objects are not covered.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::engine::BuildId;
use unstuck_core::fault::Fault;

use super::project::{FOLDER, ProjectRepository};
use super::state::{build_backup_prefix, io_fault};
use crate::regular_file::allow_missing;

/// Folders that are kept as hard links: git adds files to them and does not write into existing
/// ones.
const LINKED: [&str; 2] = [OBJECTS, LOGS];
const OBJECTS: &str = "objects";
const LOGS: &str = "logs";
/// Prefixes of refs that Unstuck made, which are not backed up.
const OURS: [&str; 2] = ["refs/unstuck/", "refs/heads/unstuck/"];
const KEPT_BUILDS: u32 = 3;
/// Files and folders that are kept as copies.
const COPIED: [&str; 5] = ["HEAD", "config", "packed-refs", "hooks", "info"];
/// Further folders that git requires of a repository.
const FOLDERS: [&str; 3] = ["objects/info", "objects/pack", "refs/heads"];
/// Name of the marker file: refs and copies are kept, so that later attempts add objects alone.
const COMPLETE: &str = "complete";

impl ProjectRepository {
    /// Backs up the operator's repository for the time of a build: all of it before the first
    /// attempt, and the additions before each later one.
    pub(super) async fn back_up_repository(&self, build: BuildId) -> Result<(), Fault> {
        let folder = self.backup_folder(build);
        if !folder.join(COMPLETE).exists() {
            let refs = self.git.list_refs(&[]).await?;
            let is_ours = |name: &str| OURS.iter().any(|prefix| name.starts_with(prefix));
            let persons = refs.into_iter().filter(|(name, _)| !is_ours(name));
            let kept = persons.filter_map(|(name, oid)| {
                let rest = name.strip_prefix("refs/")?;
                Some((format!("{}/{rest}", build_backup_prefix(build)), oid))
            });
            self.git.set_refs(kept).await?;
            let copy = || {
                for name in COPIED {
                    copy_missing(&self.layout.common_dir.join(name), &folder.join(name))?;
                }
                fs::write(folder.join(COMPLETE), "")
            };
            let made = fs::create_dir_all(&folder).and_then(|()| copy());
            made.map_err(|error| io_fault(&folder, &error))?;
            self.delete_old_backups(build).await?;
        }
        for name in LINKED {
            // The work continues where hard links are not possible.
            let _ = link_missing(&self.layout.common_dir.join(name), &folder.join(name));
        }
        Ok(())
    }

    /// Removes the backups of builds long before this one. A build among them that is still worked
    /// on makes a new backup.
    async fn delete_old_backups(&self, build: BuildId) -> Result<(), Fault> {
        let folders = fs::read_dir(self.root.join(FOLDER).join("backup"));
        for entry in folders.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix('b')?.parse().ok());
            if let Some(old) = number.map(BuildId).filter(|old| old.0 + KEPT_BUILDS <= build.0) {
                self.delete_backup(old).await?;
            }
        }
        Ok(())
    }

    /// Restores files that have disappeared from the operator's repository since the backup. Refs
    /// are restored elsewhere.
    pub(super) fn restore_missing(&self, build: BuildId) -> Result<(), Fault> {
        let folder = self.backup_folder(build);
        let common = &self.layout.common_dir;
        if !folder.join(COMPLETE).exists() {
            return Ok(());
        }
        let mend = || {
            for name in FOLDERS {
                fs::create_dir_all(common.join(name))?;
            }
            for name in COPIED {
                copy_missing(&folder.join(name), &common.join(name))?;
            }
            link_missing(&folder.join(OBJECTS), &common.join(OBJECTS))?;
            // Logs of single branches that were deleted since are not restored.
            if common.join(LOGS).exists() {
                return Ok(());
            }
            link_missing(&folder.join(LOGS), &common.join(LOGS))
        };
        mend().map_err(|error| io_fault(common, &error))
    }

    /// Removes the backup of a build that is over.
    pub async fn delete_backup(&self, build: BuildId) -> Result<(), Fault> {
        let folder = self.backup_folder(build);
        allow_missing(fs::remove_dir_all(&folder)).map_err(|error| io_fault(&folder, &error))?;
        let kept = self.git.list_refs(&[&format!("{}/", build_backup_prefix(build))]).await?;
        self.git.delete_refs(kept).await
    }

    fn backup_folder(&self, build: BuildId) -> PathBuf {
        self.root.join(FOLDER).join("backup").join(build.to_string())
    }
}

/// Hard-links each file below `from` that is missing below `to`. Skips git's own temporary files
/// and files that disappear meanwhile.
fn link_missing(from: &Path, to: &Path) -> io::Result<()> {
    for_each_missing(from, to, |from, to| fs::hard_link(from, to))
}

fn copy_missing(from: &Path, to: &Path) -> io::Result<()> {
    for_each_missing(from, to, |from, to| fs::copy(from, to).map(drop))
}

fn for_each_missing(
    from: &Path,
    to: &Path,
    put: impl Fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut left = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = left.pop() {
        let Ok(kind) = fs::symlink_metadata(&from).map(|found| found.file_type()) else { continue };
        if kind.is_dir() {
            let mut made = fs::symlink_metadata(&to).is_ok_and(|found| found.is_dir());
            for entry in fs::read_dir(&from)? {
                let name = entry?.file_name();
                if name.to_string_lossy().starts_with("tmp_") {
                    continue;
                }
                if !made {
                    fs::create_dir_all(&to)?;
                    made = true;
                }
                left.push((from.join(&name), to.join(&name)));
            }
        } else if kind.is_file() && fs::symlink_metadata(&to).is_err() {
            match put(&from, &to) {
                Err(error) if is_transient(&error) => {}
                put => put?,
            }
        }
    }
    Ok(())
}

/// Returns whether another git process has caused an error by making or removing the same file
/// meanwhile.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
}
