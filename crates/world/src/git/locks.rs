//! Finds lock files of git that are in the way of a command.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::git::Git;

/// The lock files that any command may meet.
const NAMES: [&str; 5] =
    ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"];

/// Returns an existing lock file that explains a failure. The caller has just seen a command fail.
pub(super) fn find_held_lock(git: &Git, reference: Option<&str>) -> Option<PathBuf> {
    let git_dir = find_git_dir(git)?;
    let common = find_common_dir(git)?;
    let of_index = git.index.iter().map(|index| lock_path(index));
    let of_reference = reference.iter().map(|name| lock_path(&common.join(name)));
    let named = [&git_dir, &common].into_iter().flat_map(|dir| NAMES.map(|name| dir.join(name)));
    of_index.chain(of_reference).chain(named).find(|path| path.exists())
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Returns the git folder that all working trees of a repository share.
pub(super) fn find_common_dir(git: &Git) -> Option<PathBuf> {
    match &git.folders {
        Some(folders) => Some(folders.common.clone()),
        None => find_git_dir(git).map(|own| read_common_dir(&own)),
    }
}

fn find_git_dir(git: &Git) -> Option<PathBuf> {
    git.folders
        .as_ref()
        .map(|folders| folders.own.clone())
        .or_else(|| discover_git_dir(&git.directory))
}

/// Returns the shared git folder that the git folder of a worktree names, or that folder itself.
fn read_common_dir(git_dir: &Path) -> PathBuf {
    match fs::read(git_dir.join("commondir")) {
        Ok(path) => git_dir.join(OsString::from_vec(path.trim_ascii_end().to_vec())),
        Err(_) => git_dir.to_owned(),
    }
}

fn discover_git_dir(directory: &Path) -> Option<PathBuf> {
    let dot_git = directory.ancestors().map(|dir| dir.join(".git")).find(|path| path.exists())?;
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let link = fs::read(&dot_git).ok()?;
    let target = link.strip_prefix(b"gitdir: ")?.trim_ascii_end().to_vec();
    Some(dot_git.parent()?.join(OsString::from_vec(target)))
}
