//! Knowing where an agent is, and letting it go on, without waiting for time to pass.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::repo::Repo;
use crate::build::scripts::run;

/// A pipe with a name. Opening an end waits for a process at the other.
#[derive(Clone)]
pub(crate) struct Fifo(PathBuf);

impl Fifo {
    pub(crate) fn new(repo: &Repo, name: &str) -> Self {
        let path = repo.beside(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The step that says "I am here".
    pub(crate) fn says(&self) -> String {
        run(&format!("echo here > {}", self.0.display()))
    }

    /// The step that waits until it is let go on.
    pub(crate) fn waits(&self) -> String {
        run(&format!("cat {}", self.0.display()))
    }

    /// Waits until a script says something.
    pub(crate) async fn hear(&self) {
        let path = self.0.clone();
        let heard = tokio::task::spawn_blocking(move || fs::read_to_string(path).unwrap());
        assert_eq!(heard.await.unwrap(), "here\n");
    }

    /// Lets the waiting script go on.
    pub(crate) async fn let_go(&self) {
        let path = self.0.clone();
        tokio::task::spawn_blocking(move || fs::write(path, "go\n").unwrap()).await.unwrap();
    }

    /// Listens to processes that hold it for writing.
    pub(crate) async fn listen(&self) -> Alive {
        let path = self.0.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let mut fifo = File::open(path).unwrap();
            let mut byte = [0];
            // The first byte says that they are there.
            fifo.read_exact(&mut byte).unwrap();
            fifo
        });
        Alive(opened.await.unwrap())
    }
}

/// The other end of a pipe that processes hold.
pub(crate) struct Alive(File);

impl Alive {
    /// Waits until none of them is left.
    pub(crate) async fn until_none_left(mut self) {
        let gone = tokio::task::spawn_blocking(move || self.0.read_to_end(&mut Vec::new()));
        gone.await.unwrap().unwrap();
    }
}
