//! How far a repair has come, kept beside the lock files of runs: one that is taken up again after a
//! kill is neither made nor committed a second time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::attempt::Approach;
use unstuck_core::engine::TaskId;
use unstuck_core::fault::{Fault, Internal};
use unstuck_world::git::Oid;

use crate::world::Order;

/// Where the note of a job is.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    folder: PathBuf,
}

/// How far a repair has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The firing that it belongs to, and which of its repairs it is.
    repair: (u32, u32),
    /// What came of it, once that is committed.
    pub(super) made: Option<Made>,
}

/// A repair that passed its proof and is committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    /// The commit, on whatever it was proved on.
    commit: String,
    /// What the agent did.
    pub(super) approach: Arc<Approach>,
}

impl Made {
    pub(super) fn new(commit: &Oid, approach: Arc<Approach>) -> Self {
        Self { commit: commit.to_string(), approach }
    }

    pub(super) fn commit(&self) -> Option<Oid> {
        Oid::read(self.commit.as_bytes())
    }
}

impl Note {
    pub(super) const fn of(order: &Order) -> Self {
        Self { repair: (order.firing, order.attempt), made: None }
    }

    /// The same, committed.
    pub(super) fn with(self, made: Made) -> Self {
        Self { made: Some(made), ..self }
    }
}

impl Notes {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// What is known of the very repair that is ordered. One that cannot be read is begun anew.
    pub(super) fn read(&self, order: &Order) -> Option<Note> {
        let bytes = fs::read(self.path(order.effect.task)).ok()?;
        let note: Note = serde_json::from_slice(&bytes).ok()?;
        (note.repair == (order.firing, order.attempt)).then_some(note)
    }

    /// Writes it down before anything follows from it.
    pub(super) fn write(&self, task: TaskId, note: &Note) -> Result<(), Fault> {
        let path = self.path(task);
        let next = path.with_added_extension("next");
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            fs::write(&next, serde_json::to_vec(note)?)?;
            fs::File::open(&next)?.sync_all()?;
            fs::rename(&next, &path)
        };
        write().map_err(|error| {
            let context = Internal { component: "repair".to_owned() };
            let message = format!("{} cannot be written", path.display());
            Fault::internal_error("repair", message, context).caused_by(error)
        })
    }

    /// The repair begins anew, whatever was known of it.
    pub(super) fn forget(&self, task: TaskId) {
        // What is not there needs no forgetting.
        let _ = fs::remove_file(self.path(task));
    }

    fn path(&self, task: TaskId) -> PathBuf {
        self.folder.join(format!("{task}.repair"))
    }
}
