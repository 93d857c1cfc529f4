//! A folder that a person works in, on a machine that has git, a shell, and what a test puts there.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use unstuck_testkit::stage::{commit_all, init_repository, write_file, write_program};

use crate::program::{Ran, command, ran};

/// The programs that Unstuck and git themselves need.
const PROGRAMS: [&str; 2] = ["git", "sh"];

pub(crate) struct Place {
    root: PathBuf,
    bin: PathBuf,
    home: PathBuf,
    _owned: TempDir,
}

impl Place {
    /// A folder with these files, in no repository.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let owned = tempfile::tempdir().unwrap();
        let above = owned.path().canonicalize().unwrap();
        let [root, bin, home] = ["shop", "bin", "home"].map(|name| above.join(name));
        for folder in [&root, &bin, &home] {
            fs::create_dir(folder).unwrap();
        }
        let place = Self { root, bin, home, _owned: owned };
        for name in PROGRAMS {
            symlink(on_path(name), place.bin.join(name)).unwrap();
        }
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    /// The same, committed by Ada.
    pub(crate) fn repository(files: &[(&str, &str)]) -> Self {
        let place = Self::with(files);
        init_repository(&place.root);
        place.commit();
        place
    }

    /// Commits everything.
    pub(crate) fn commit(&self) {
        commit_all(&self.root, "Something");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn home(&self, path: &str) -> PathBuf {
        self.home.join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write_file(&self.path(path), text);
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Puts a shell script on the path.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let program = self.bin.join(name);
        let _ = fs::remove_file(&program);
        write_program(&program, script);
    }

    /// Installs an agent program, with a login.
    pub(crate) fn has_agent(&self) {
        self.program("claude", "echo '1.2.3 (Claude Code)'");
        write_file(&self.home(".claude/.credentials.json"), "{}");
    }

    /// Takes a program away.
    pub(crate) fn without(&self, name: &str) {
        fs::remove_file(self.bin.join(name)).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        let done = git.current_dir(&self.root).args(args).output().unwrap();
        assert!(done.status.success(), "{git:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// The program in this folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut unstuck = command(args);
        unstuck.current_dir(&self.root).stdin(Stdio::null());
        unstuck.env("PATH", &self.bin).env("HOME", &self.home).env("TZ", "UTC");
        unstuck.env("GIT_CONFIG_NOSYSTEM", "1");
        unstuck
    }

    pub(crate) fn unstuck(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// The JSON that the program writes, with any exit status.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.unstuck(args);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
    }

    /// Every file of the folder but git's own, with what it holds.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(&self.root, &mut files);
        files.sort();
        files
    }

    /// A text without what differs from machine to machine.
    pub(crate) fn steady(&self, text: &str) -> String {
        let root = self.root.display().to_string();
        let text = text.replace(&root, "(root)").replace(&self.bin.display().to_string(), "(bin)");
        text.replace(&self.home.display().to_string(), "(home)")
    }
}

fn on_path(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap();
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists());
    found.unwrap_or_else(|| panic!("{name} is not installed"))
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != ".git") {
                collect(&path, files);
            }
        } else {
            let holds = fs::read(&path).unwrap();
            files.push((path, holds));
        }
    }
}
