//! The parts of a repository on disk: its folders, lock files, hooks and working trees.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::fault::{Fault, Missing};

use super::call::{GitCall, GitOutput};
use super::fail::GitAction;
use super::git::{Git, GitFolders, RevisionLookup};
use super::object::Oid;
use super::records::{nonempty_records, parse_path};
use super::status::GitParseError;
use crate::process::FileLock;

/// The lock files that any command may meet.
const LOCKS: [&str; 5] =
    ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"];

/// The folders of a repository, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLayout {
    /// The git folder of this working tree alone.
    pub git_dir: PathBuf,
    /// The git folder that all working trees share.
    pub common_dir: PathBuf,
    /// `true` if the repository has no working tree.
    pub bare: bool,
    /// `true` if the history is cut off.
    pub shallow: bool,
    /// The folder of the client within the working tree; empty at its root.
    pub folder: PathBuf,
}

impl Git {
    /// Returns a client with the folders of its repository fixed.
    #[must_use]
    pub fn with_layout(&self, layout: &GitLayout) -> Self {
        let own = layout.git_dir.clone();
        let common = layout.common_dir.clone();
        let folders = Some(GitFolders { own, common, at_root: false });
        let lookup = Arc::new(RevisionLookup::new(self.directory.clone(), folders.clone()));
        Self { folders, lookup, ..self.clone() }
    }

    /// Returns the folders of the repository. The lack of a repository is `PRECONDITION_MISSING`.
    pub async fn read_layout(&self) -> Result<GitLayout, Fault> {
        if self.folders.is_none() && !self.has_repository() {
            let message = format!("{} is not in a git repository", self.directory.display());
            let what = "a git repository".to_owned();
            return Err(Fault::precondition_missing("git.look", message, Missing { what }));
        }
        let call = self.call(GitAction::Look).args(["rev-parse", "--path-format=absolute"]);
        let done = call
            .args(["--git-dir", "--git-common-dir"])
            .args(["--is-bare-repository", "--is-shallow-repository", "--show-prefix"])
            .run()
            .await?;
        let lines: Vec<&[u8]> = done.stdout.split(|byte| *byte == b'\n').collect();
        let [git_dir, common_dir, bare, shallow, folder, ..] = lines.as_slice() else {
            return Err(self.unreadable_fault(GitAction::Look));
        };
        let path = |line: &[u8]| PathBuf::from(OsString::from_vec(line.to_vec()));
        Ok(GitLayout {
            git_dir: path(git_dir),
            common_dir: path(common_dir),
            bare: *bare == b"true",
            shallow: *shallow == b"true",
            folder: path(folder).components().collect(),
        })
    }

    /// Returns whether the directory is in a repository. Git itself exits with 128 for every kind
    /// of error, so the files are checked instead.
    fn has_repository(&self) -> bool {
        let bare = |dir: &Path| dir.join("HEAD").is_file() && dir.join("objects").is_dir();
        let holds = |dir: &Path| dir.join(".git").exists() || bare(dir);
        self.directory.ancestors().any(holds)
    }

    /// Returns an existing lock file that explains a failure. The caller has just seen a command
    /// fail.
    pub(super) fn find_held_lock(&self, reference: Option<&str>) -> Option<PathBuf> {
        let git_dir = self.find_git_dir()?;
        let common = self.find_common_dir()?;
        let of_index = self.index.iter().map(|index| lock_path(index));
        let of_reference = reference.iter().map(|name| lock_path(&common.join(name)));
        let named =
            [&git_dir, &common].into_iter().flat_map(|dir| LOCKS.map(|name| dir.join(name)));
        of_index.chain(of_reference).chain(named).find(|path| path.exists())
    }

    /// Returns the git folder that all working trees of a repository share.
    fn find_common_dir(&self) -> Option<PathBuf> {
        match &self.folders {
            Some(folders) => Some(folders.common.clone()),
            None => self.find_git_dir().map(|own| read_common_dir(&own)),
        }
    }

    fn find_git_dir(&self) -> Option<PathBuf> {
        let named = self.folders.as_ref().map(|folders| folders.own.clone());
        named.or_else(|| discover_git_dir(&self.directory))
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
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

/// Pattern of settings that are hooks themselves, in newer versions of git.
const HOOK_SETTINGS: &str = r"^hook\.";

/// The location of a repository's hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSources {
    /// The folder of hook files.
    folder: PathBuf,
    /// Hooks that are settings: names and values.
    settings: Vec<String>,
}

impl Git {
    /// Returns the hooks of the working tree, which has them in `folder` unless the operator's
    /// settings say otherwise. A folder that git does not track, as the one of Husky, is only in the
    /// operator's own working tree.
    pub async fn find_hooks(&self, folder: &Path) -> Result<HookSources, Fault> {
        let call = self.call(GitAction::Look).args(["config", "--null", "--type=path"]);
        let said = call.args(["--get-all", "core.hooksPath"]).run_expecting(&[0, 1]).await?.stdout;
        let mut folders: Vec<&[u8]> = nonempty_records(&said).collect();
        // The last one comes from the fixed settings, which keep these commands from running hooks.
        folders.pop();
        let folder = match folders.last() {
            Some(named) => {
                let named = PathBuf::from(OsString::from_vec(named.to_vec()));
                let here = self.directory().join(&named);
                let checkout = folder.parent().and_then(Path::parent);
                match checkout.map(|checkout| checkout.join(&named)) {
                    Some(theirs) if !here.exists() && theirs.is_dir() => theirs,
                    _ => here,
                }
            }
            None => folder.to_owned(),
        };
        let call =
            self.call(GitAction::Look).args(["config", "--null", "--get-regexp", HOOK_SETTINGS]);
        let said = call.run_expecting(&[0, 1]).await?.stdout;
        let setting = |record: &[u8]| String::from_utf8_lossy(record).replacen('\n', "=", 1);
        Ok(HookSources { folder, settings: nonempty_records(&said).map(setting).collect() })
    }
}

impl HookSources {
    /// Returns whether there may be a hook of this name. Git itself skips files that are not
    /// executable.
    pub fn may_have(&self, name: &str) -> bool {
        !self.settings.is_empty() || self.folder.join(name).exists()
    }

    /// Returns the path of a hook's file, which need not exist.
    pub(crate) fn hook_file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the arguments that make another git run these hooks and no others.
    pub(crate) fn to_arguments(&self) -> Vec<OsString> {
        let mut path = OsString::from("core.hooksPath=");
        path.push(&self.folder);
        let settings = self.settings.iter().map(OsString::from);
        [path].into_iter().chain(settings).flat_map(|setting| ["-c".into(), setting]).collect()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Name of a lock file in the shared git folder that is held while git reads all working trees.
const WORKTREES_LOCK: &str = "unstuck-worktrees.lock";

impl Git {
    /// Returns all working trees, the main one first.
    pub async fn list_worktrees(&self) -> Result<Vec<Worktree>, Fault> {
        let call = self.call(GitAction::Look).args(["worktree", "list", "--porcelain", "-z"]);
        let done = self.run_exclusively(call).await?;
        parse_worktrees(&done.stdout).map_err(|_| self.unreadable_fault(GitAction::Look))
    }

    /// Makes a working tree of `commit` at `path`, with a detached head. Replaces a registered one
    /// whose folder is gone, and one that a kill left incomplete.
    pub async fn add_worktree(&self, path: &Path, commit: &Oid) -> Result<(), Fault> {
        let call = self.call(GitAction::Worktree).args(["worktree", "add", "--detach"]);
        let call = call.args(["--force", "--force"]).args([path.as_os_str()]);
        self.run_exclusively(
            call.args([OsStr::new(commit.as_str())]).with_reference(commit.as_str()),
        )
        .await
        .map(drop)
    }

    /// Removes a working tree with all its files. The caller has made sure that none of them is
    /// unsaved.
    pub async fn remove_worktree(&self, path: &Path) -> Result<(), Fault> {
        let call =
            self.call(GitAction::Worktree).args(["worktree", "remove", "--force", "--force"]);
        self.run_exclusively(call.args([path])).await.map(drop)
    }

    /// Runs a command that reads git's data about every working tree, under a lock: git dies of an
    /// entry that another process is just making or removing. Runs without the lock where it cannot
    /// be created, because then no working tree can be created either.
    async fn run_exclusively(&self, call: GitCall<'_>) -> Result<GitOutput, Fault> {
        let _lock = match self.find_common_dir() {
            Some(shared) => FileLock::acquire(&shared.join(WORKTREES_LOCK)).await.ok(),
            None => None,
        };
        call.run().await
    }

    /// Returns the full name of the branch that `HEAD` is on; `None` for a detached head.
    pub async fn current_branch(&self) -> Result<Option<String>, Fault> {
        let call = self.call(GitAction::Look).args(["symbolic-ref", "--quiet", "HEAD"]);
        let done = call.run_expecting(&[0, 1]).await?;
        let name = String::from_utf8_lossy(done.stdout.trim_ascii_end()).into_owned();
        Ok((done.status == 0).then_some(name))
    }
}

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
    for line in nonempty_records(bytes) {
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
