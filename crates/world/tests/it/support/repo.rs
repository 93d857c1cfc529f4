//! A real repository in a folder of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use unstuck_world::git::Oid;

pub(crate) struct Repo {
    pub(crate) root: PathBuf,
    _owned: TempDir,
}

impl Repo {
    /// One without a commit.
    pub(crate) fn empty() -> Self {
        let owned = tempfile::tempdir().unwrap();
        let root = owned.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let repo = Self { root, _owned: owned };
        repo.run(["init", "-q", "-b", "main"]);
        repo.run(["config", "user.name", "Ada"]);
        repo.run(["config", "user.email", "ada@example.org"]);
        repo
    }

    /// One with a commit of these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repo = Self::empty();
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit("first");
        repo
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Somewhere beside it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.with_file_name(name)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: &str) {
        write(&self.path(path), text);
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        run_in(&self.root, args)
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) -> Oid {
        self.run(["add", "-A"]);
        self.run(["commit", "-q", "--allow-empty", "-m", message]);
        self.oid("HEAD")
    }

    pub(crate) fn oid(&self, name: &str) -> Oid {
        Oid::parse(self.run(["rev-parse", name]).as_bytes()).unwrap()
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs git and gives what it wrote.
pub(crate) fn run_in<A: AsRef<OsStr>>(
    directory: &Path,
    args: impl IntoIterator<Item = A>,
) -> String {
    let mut command = Command::new("git");
    let done = command.current_dir(directory).args(args).output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
