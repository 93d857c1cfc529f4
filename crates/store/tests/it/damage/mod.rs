//! What SQLite's files go through in the world: cut, overwritten, foreign, full, held, killed.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod files;
mod fixture;
mod forgetting;
mod processes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::engine::{BuildId, Command};
use unstuck_store::{Batch, SqliteStore, Store};
use unstuck_testkit::store::{StoreFixture, StoreOpener};

/// A database in a folder of its own.
struct File {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl File {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("unstuck.db"), _folder: folder }
    }
}

/// A database that is opened where it is.
struct At<'a>(&'a Path);

impl StoreOpener for At<'_> {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(self.0).unwrap())
    }
}

/// A decision that can be made for ever: a build is paused and goes on.
fn next(stage: &mut StoreFixture) -> Batch {
    let build = BuildId(0);
    stage
        .decide_command(Command::Pause { build })
        .or_else(|_| stage.decide_command(Command::Resume { build }))
        .unwrap()
}
