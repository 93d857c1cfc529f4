//! The progress of a repair, kept next to the lock files of runs: a repair that is resumed after a
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

use crate::effects::{EffectRequest, read_json, remove_if_exists};

/// The folder of the notes, one per job.
#[derive(Clone, Debug)]
pub(super) struct RepairNotes {
    folder: PathBuf,
}

/// The progress of a repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RepairNote {
    /// The firing that it belongs to, and its number among the repairs of the firing.
    repair: (u32, u32),
    /// The result, once it is committed.
    pub(super) made: Option<CommittedRepair>,
}

/// A repair that passed its checks and is committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommittedRepair {
    /// The commit, whose parent is the head that it was checked on.
    commit: String,
    /// The agent's approach.
    pub(super) approach: Arc<Approach>,
}

impl CommittedRepair {
    pub(super) fn new(commit: &Oid, approach: Arc<Approach>) -> Self {
        Self { commit: commit.to_string(), approach }
    }

    pub(super) fn commit_oid(&self) -> Option<Oid> {
        Oid::parse(self.commit.as_bytes())
    }
}

impl RepairNote {
    pub(super) const fn from_request(order: &EffectRequest) -> Self {
        Self { repair: (order.firing, order.attempt), made: None }
    }

    /// Returns the note with the committed repair.
    pub(super) fn with_commit(self, made: CommittedRepair) -> Self {
        Self { made: Some(made), ..self }
    }
}

impl RepairNotes {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Returns the note of the very repair that is ordered. One that cannot be read is begun anew.
    pub(super) fn read_note(&self, order: &EffectRequest) -> Option<RepairNote> {
        let path = self.note_path(order.effect.task);
        let read = read_json(&path).inspect_err(|error| {
            tracing::warn!(%error, path = %path.display(), "a repair begins anew");
        });
        let note: RepairNote = read.ok()??;
        (note.repair == (order.firing, order.attempt)).then_some(note)
    }

    /// Writes the note to disk, before the next step of the repair.
    pub(super) fn write_note(&self, task: TaskId, note: &RepairNote) -> Result<(), Fault> {
        let path = self.note_path(task);
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
            Fault::internal_error("repair", message, context).with_cause(error)
        })
    }

    /// Deletes the note, so that the repair begins anew.
    pub(super) fn delete_note(&self, task: TaskId) {
        remove_if_exists(&self.note_path(task));
    }

    fn note_path(&self, task: TaskId) -> PathBuf {
        self.folder.join(format!("{task}.repair"))
    }
}
