//! The git program, and the repository it works on.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::fault::{Fault, Missing};

use super::fail::GitAction;
use super::lookup::RevisionLookup;
use super::status::{self, StatusEntry};
use crate::process::GuardCommand;

/// Default timeout of a git command. Cloning and fetching are not among the operations; a status of
/// a very large tree on a slow disk is.
const PATIENCE: Duration = Duration::from_mins(5);

/// A client for the git program in one repository.
#[derive(Clone, Debug)]
pub struct Git {
    pub(super) program: OsString,
    pub(super) directory: PathBuf,
    /// The folders of the repository; git looks for them itself if this is `None`.
    pub(super) folders: Option<GitFolders>,
    pub(super) index: Option<PathBuf>,
    pub(super) patience: Duration,
    /// The guard that ends a command if the holder dies, and the lock of the run that it belongs
    /// to.
    pub(super) kept_by: Option<(GuardCommand, PathBuf)>,
    /// The lookup process, shared by all clients of the same repository.
    pub(super) lookup: Arc<RevisionLookup>,
}

/// The folders of a repository, named explicitly so that no file in a working tree decides about
/// them.
#[derive(Clone, Debug)]
pub(super) struct GitFolders {
    /// The git folder of one working tree.
    pub(super) own: PathBuf,
    /// The git folder that all working trees share.
    pub(super) common: PathBuf,
    /// `true` if the directory is the root of the working tree.
    pub(super) at_root: bool,
}

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
}

impl Git {
    /// Returns a client that runs `program` for the repository that contains `directory`.
    pub fn new(program: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            program: program.into(),
            lookup: Arc::new(RevisionLookup::new(directory.clone(), None)),
            directory,
            folders: None,
            kept_by: None,
            index: None,
            patience: PATIENCE,
        }
    }

    /// Returns a client whose commands run under a guard: a long one, such as a push, must not
    /// continue after the holder is killed.
    #[must_use]
    pub fn with_guard(&self, guard: GuardCommand, lock: impl Into<PathBuf>) -> Self {
        Self { kept_by: Some((guard, lock.into())), ..self.clone() }
    }

    /// Returns a client for the working tree `directory`, with explicit folders of its repository:
    /// `own` belongs to this working tree, `common` is shared by all. Git then ignores `.git` in
    /// that directory and `commondir` in `own`, because an agent may have changed them.
    #[must_use]
    pub fn for_worktree(
        &self,
        directory: impl Into<PathBuf>,
        own: impl Into<PathBuf>,
        common: impl Into<PathBuf>,
    ) -> Self {
        let folders = GitFolders { own: own.into(), common: common.into(), at_root: true };
        Self { directory: directory.into(), folders: Some(folders), index: None, ..self.clone() }
    }

    /// Returns a client with the folders of its repository fixed.
    #[must_use]
    pub fn with_layout(&self, layout: &GitLayout) -> Self {
        let own = layout.git_dir.clone();
        let common = layout.common_dir.clone();
        let folders = Some(GitFolders { own, common, at_root: false });
        let lookup = Arc::new(RevisionLookup::new(self.directory.clone(), folders.clone()));
        Self { folders, lookup, ..self.clone() }
    }

    /// Returns a client that uses another file as its index.
    #[must_use]
    pub fn with_index(&self, index: impl Into<PathBuf>) -> Self {
        Self { index: Some(index.into()), ..self.clone() }
    }

    /// Returns a client with another timeout for its commands.
    #[must_use]
    pub fn with_timeout(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    /// Returns the folder in which the commands run.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the git folder of the working tree, if it was named explicitly.
    pub(crate) fn git_dir(&self) -> Option<&Path> {
        self.folders.as_ref().map(|folders| folders.own.as_path())
    }

    /// Returns the name or path of the git program.
    pub fn program(&self) -> &OsString {
        &self.program
    }

    /// Returns the version of the program, such as `2.47.3`.
    pub async fn read_version(&self) -> Result<String, Fault> {
        let done = self.call(GitAction::Look).args(["--version"]).run().await?;
        let said = String::from_utf8_lossy(&done.stdout);
        let number =
            said.strip_prefix("git version ").and_then(|rest| rest.split_whitespace().next());
        number.map(str::to_owned).ok_or_else(|| self.unreadable_fault(GitAction::Look))
    }

    /// Returns whether git ignores this folder, which need not exist.
    pub async fn ignores_folder(&self, path: &str) -> Result<bool, Fault> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let call = self.call(GitAction::Look).with_plain_paths();
        let call = call.args(["check-ignore", "--quiet", "--", &folder]);
        Ok(call.run_expecting(&[0, 1]).await?.status == 0)
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
            .args(["--is-bare-repository", "--is-shallow-repository"])
            .run()
            .await?;
        let lines: Vec<&[u8]> = done.stdout.split(|byte| *byte == b'\n').collect();
        let [git_dir, common_dir, bare, shallow, ..] = lines.as_slice() else {
            return Err(self.unreadable_fault(GitAction::Look));
        };
        let path = |line: &[u8]| PathBuf::from(OsString::from_vec(line.to_vec()));
        Ok(GitLayout {
            git_dir: path(git_dir),
            common_dir: path(common_dir),
            bare: *bare == b"true",
            shallow: *shallow == b"true",
        })
    }

    /// Returns the differences between the last commit, the index and the working tree, without
    /// rename detection. Lists every new file, not just its folder. Of a submodule only the commit
    /// counts: looking further would start a git there, with the settings that an agent left in it.
    pub async fn status(&self) -> Result<Vec<StatusEntry>, Fault> {
        let call = self.call(GitAction::Status).args(["status", "--porcelain=v2", "-z"]);
        let call =
            call.args(["--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"]);
        let done = call.run().await?;
        status::parse_status(&done.stdout).map_err(|_| self.unreadable_fault(GitAction::Status))
    }

    /// Returns whether the directory is in a repository. Git itself exits with 128 for every kind
    /// of error, so the files are checked instead.
    fn has_repository(&self) -> bool {
        let bare = |dir: &Path| dir.join("HEAD").is_file() && dir.join("objects").is_dir();
        let holds = |dir: &Path| dir.join(".git").exists() || bare(dir);
        self.directory.ancestors().any(holds)
    }

    /// Returns the fault for output of git that cannot be parsed.
    pub(super) fn unreadable_fault(&self, operation: GitAction) -> Fault {
        let message = format!("{} gave an answer that cannot be read", self.program.display());
        operation.to_fault(message, None, None)
    }
}
