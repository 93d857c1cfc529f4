//! A person's repository in a folder of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub(crate) struct Repo {
    pub(crate) root: PathBuf,
    /// The git that builds use.
    pub(crate) program: PathBuf,
    owned: TempDir,
}

impl Repo {
    /// One with a commit of these files on `main`.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let owned = tempfile::tempdir().unwrap();
        let root = owned.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let repo = Self { root, program: "git".into(), owned };
        repo.git(["init", "-q", "-b", "main"]);
        repo.git(["config", "user.name", "Ada"]);
        repo.git(["config", "user.email", "ada@example.org"]);
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.git(["add", "-A"]);
        repo.git(["commit", "-q", "--allow-empty", "-m", "first"]);
        repo
    }

    /// Somewhere beside it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.owned.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        self.try_git(args).unwrap()
    }

    /// What git wrote, or what it complained about.
    pub(crate) fn try_git<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String, String> {
        git_in(&self.root, args)
    }

    /// A file as a commit has it; none where it has none.
    pub(crate) fn file_at(&self, commit: &str, path: &str) -> Option<String> {
        self.try_git(["show", &format!("{commit}:{path}")]).ok()
    }

    /// The files that a commit changed.
    pub(crate) fn changed_by(&self, commit: &str) -> Vec<String> {
        let out = self.git(["show", "--format=", "--name-only", commit]);
        out.lines().map(ToOwned::to_owned).collect()
    }

    /// The subjects from one commit to another, oldest first.
    pub(crate) fn subjects(&self, range: &str) -> Vec<String> {
        let out = self.git(["log", "--reverse", "--format=%s", range]);
        out.lines().map(ToOwned::to_owned).collect()
    }

    /// Everything a person has in hand: where they are, what they staged and what they edited.
    pub(crate) fn in_hand(&self) -> [String; 4] {
        [
            self.git(["rev-parse", "HEAD"]),
            self.git(["symbolic-ref", "HEAD"]),
            self.git(["diff", "--cached"]),
            self.git(["status", "--porcelain=v2", "--untracked-files=all"]),
        ]
    }
}

pub(crate) fn git_in<A: AsRef<OsStr>>(
    directory: &Path,
    args: impl IntoIterator<Item = A>,
) -> Result<String, String> {
    let done = Command::new("git").current_dir(directory).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
}
