//! Knowing where an agent is, and letting it go on, without waiting for time to pass.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;
use unstuck_testkit::stage::{FifoReader, TestRepo, make_fifo};

use crate::build::scripts::run;

/// A pipe with a name. Opening an end waits for a process at the other.
#[derive(Clone)]
pub(crate) struct Fifo(PathBuf);

impl Fifo {
    pub(crate) fn new(repo: &TestRepo, name: &str) -> Self {
        let path = repo.beside(name);
        make_fifo(&path);
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
        let heard = spawn_blocking(move || fs::read_to_string(path).unwrap());
        assert_eq!(heard.await.unwrap(), "here\n");
    }

    /// Lets the waiting script go on.
    pub(crate) async fn let_go(&self) {
        let path = self.0.clone();
        spawn_blocking(move || fs::write(path, "go\n").unwrap()).await.unwrap();
    }

    /// Listens to processes that hold it for writing. The first byte says that they are there.
    pub(crate) async fn listen(&self) -> FifoReader {
        let path = self.0.clone();
        spawn_blocking(move || FifoReader::open_and_hear(&path)).await.unwrap()
    }
}

/// Waits until no process holds the other end.
pub(crate) async fn until_none_left(reader: FifoReader) {
    spawn_blocking(move || reader.read_to_end()).await.unwrap();
}
