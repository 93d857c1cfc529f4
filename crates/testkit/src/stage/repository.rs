//! A git repository in a temporary folder, whose author is Ada.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use unstuck_world::git::Oid;

pub struct TestRepo {
    pub root: PathBuf,
    /// The git that the tested code uses.
    pub program: PathBuf,
    _owned: TempDir,
}

impl TestRepo {
    /// Creates a repository without a commit.
    pub fn empty() -> Self {
        Self::empty_in(tempfile::tempdir().unwrap())
    }

    /// Creates a repository without a commit in this folder.
    pub fn empty_in(folder: TempDir) -> Self {
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        init_repository(&root);
        Self { root, program: "git".into(), _owned: folder }
    }

    /// Creates a repository with a commit of these files on `main`.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self::empty();
        for (path, text) in files {
            repository.write(path, text);
        }
        repository.commit("first");
        repository
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Returns a path beside the repository, in the same temporary folder.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.root.with_file_name(name)
    }

    pub fn write(&self, path: impl AsRef<Path>, text: &str) {
        write_file(&self.path(path), text);
    }

    /// Runs git, which succeeds, and returns what it wrote.
    pub fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        run_git(&self.root, args)
    }

    /// Commits everything.
    pub fn commit(&self, message: &str) -> Oid {
        commit_all(&self.root, message);
        self.oid("HEAD")
    }

    pub fn oid(&self, name: &str) -> Oid {
        Oid::parse(self.git(["rev-parse", name]).as_bytes()).unwrap()
    }

    /// Adds an empty remote `origin` beside the repository.
    pub fn add_remote(&self) -> PathBuf {
        let remote = self.beside("remote.git");
        self.git(["init", "-q", "--bare", remote.to_str().unwrap()]);
        self.git(["remote", "add", "origin", remote.to_str().unwrap()]);
        remote
    }

    /// Returns a file as a commit has it.
    pub fn file_at(&self, commit: &str, path: &str) -> Option<String> {
        try_git(&self.root, ["show", &format!("{commit}:{path}")]).ok()
    }

    /// Returns the files that a commit changed.
    pub fn files_changed_by(&self, commit: &str) -> Vec<String> {
        self.git_lines(["show", "--format=", "--name-only", commit])
    }

    /// Returns the subjects from one commit to another, oldest first.
    pub fn subjects(&self, range: &str) -> Vec<String> {
        self.git_lines(["log", "--reverse", "--format=%s", range])
    }

    /// Returns what an operator has in hand: the head, its branch, what is staged and what is edited.
    pub fn checkout_state(&self) -> [String; 4] {
        [
            self.git(["rev-parse", "HEAD"]),
            self.git(["symbolic-ref", "HEAD"]),
            self.git(["diff", "--cached"]),
            self.git(["status", "--porcelain=v2", "--untracked-files=all"]),
        ]
    }

    fn git_lines<const N: usize>(&self, args: [&str; N]) -> Vec<String> {
        self.git(args).lines().map(ToOwned::to_owned).collect()
    }
}

/// Makes a folder a repository whose branch is `main`.
pub fn init_repository(root: &Path) {
    run_git(root, ["init", "-q", "-b", "main"]);
    run_git(root, ["config", "user.name", "Ada"]);
    run_git(root, ["config", "user.email", "ada@example.org"]);
}

/// Commits everything, also nothing.
pub fn commit_all(root: &Path, message: &str) {
    run_git(root, ["add", "-A"]);
    run_git(root, ["commit", "-q", "--allow-empty", "-m", message]);
}

/// Runs git, which succeeds, and returns what it wrote.
pub fn run_git<A: AsRef<OsStr>>(directory: &Path, args: impl IntoIterator<Item = A>) -> String {
    try_git(directory, args).unwrap()
}

/// Runs git, and returns what it wrote or what it complained about.
pub fn try_git<A: AsRef<OsStr>>(
    directory: &Path,
    args: impl IntoIterator<Item = A>,
) -> Result<String, String> {
    let mut git = Command::new("git");
    let done = git.current_dir(directory).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if done.status.success() {
        return Ok(text(&done.stdout));
    }
    Err(format!("{git:?}: {}", text(&done.stderr)))
}

/// Writes a file in a folder that may be missing.
pub fn write_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
