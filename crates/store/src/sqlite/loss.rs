//! Continuing after a loss of journal data.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::engine::{DoubtedAction, Event, RecordedEvent};
use unstuck_core::time::Time;

use super::readers::open_reader;
use super::table::project;
use super::verify::damage_error;
use super::{SqliteStore, fail, files, lock, mark};
use crate::error::{Holder, StoreError};
use crate::store::{Batch, Claim, Store as _};

/// The extent of an accepted loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedLoss {
    /// The last remaining event; 0 if the journal begins anew.
    pub kept: u64,
    /// The position it had reached, if known.
    pub had: Option<u64>,
    /// Actions that may have happened, as far as they are known.
    pub actions: Vec<DoubtedAction>,
}

impl SqliteStore {
    /// Accepts the loss in a project's journal: the project gets a new epoch, and actions that were
    /// dispatched since then are probed before they are performed again. The original files are kept in the
    /// folder `aside`. If nothing is lost, nothing is done.
    pub async fn accept_loss(
        path: PathBuf,
        project: &str,
        holder: &Holder,
        aside: &Path,
    ) -> Result<Option<AcceptedLoss>, StoreError> {
        if Self::open_and_verify(Self::open(path.clone()), project).await?.is_some() {
            return Ok(None);
        }
        let had = mark::read_mark(&path, project).ok().flatten().map(|read| read.reached.seq);
        // No process works with the files that are about to be replaced.
        let locks = lock::acquire_all(&path)?;
        copy_files_aside(&path, aside)?;
        let dispatched = mark::load_dispatched_actions(&path, project)?;
        let kept = Self::open_and_verify(Self::open_despite_loss(&path), project).await?;
        let known = match &kept {
            Some(_) => Vec::new(),
            None => {
                let known = salvage_actions(&path, project);
                remove_files(&path)?;
                known
            }
        };
        drop(locks);
        let store = match kept {
            Some(store) => store,
            None => Self::open_despite_loss(path.clone())?,
        };
        let Claim { mut state, mut journal, .. } = store.claim_project(project, holder).await?;
        let kept = state.seq();
        let since = dispatched.into_iter().filter(|dispatched| dispatched.seq > kept);
        let mut actions: Vec<DoubtedAction> = since.map(|dispatched| dispatched.action).collect();
        actions.extend(known);
        actions.sort_by(|one, other| (&one.key, other.at).cmp(&(&other.key, one.at)));
        // Keep the latest of each.
        actions.dedup_by(|one, other| one.key == other.key);
        let event = Event::LossAccepted { kept, had, actions: actions.clone() };
        let recorded = RecordedEvent { seq: kept + 1, at: holder.since, why: None, event };
        state.apply(&recorded).map_err(|error| damage_error(&path, error.to_string()))?;
        journal.append_batch(Batch::new(&state, vec![recorded])).wait_until_durable().await?;
        journal.close(&state).await?;
        Ok(Some(AcceptedLoss { kept, had, actions }))
    }

    /// Returns the store, if its journal has no gaps and can be read. An error that is no loss, such as a
    /// store that another process keeps busy, is returned: nothing may be removed because of it.
    async fn open_and_verify(
        opened: Result<Self, StoreError>,
        project: &str,
    ) -> Result<Option<Self>, StoreError> {
        let verified = match opened {
            Ok(store) => store.verify_journal(project).await.map(|_| store),
            Err(error) => Err(error),
        };
        match verified {
            Ok(store) => Ok(Some(store)),
            Err(error) if is_loss(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps the files of an unusable database in the folder `aside`, and clears the place for a copy.
    pub fn set_aside(path: &Path, aside: &Path) -> Result<Self, StoreError> {
        let locks = lock::acquire_all(path)?;
        copy_files_aside(path, aside)?;
        remove_files(path)?;
        drop(locks);
        Self::open_despite_loss(path)
    }
}

/// Returns whether the error may mean that data is lost.
const fn is_loss(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged { .. }
        | StoreError::NotRead { .. }
        | StoreError::NotWritten { .. }
        | StoreError::Fenced { .. } => true,
        StoreError::Held(_)
        | StoreError::Newer { .. }
        | StoreError::Rights { .. }
        | StoreError::Full { .. }
        | StoreError::Unavailable { .. } => false,
    }
}

/// Returns the files of a database: itself, its WAL and the WAL's index.
fn database_files(path: &Path) -> [PathBuf; 3] {
    let mut index = path.as_os_str().to_owned();
    index.push("-shm");
    [path.to_owned(), files::log_path(path), PathBuf::from(index)]
}

/// Copies the files of a database, with its marks.
fn copy_files_aside(path: &Path, aside: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| fail::convert_io_error(aside, "written", &error);
    files::make_private_folder(aside)?;
    let marks = mark::list_mark_files(path).map_err(failed)?;
    for file in database_files(path).into_iter().chain(marks) {
        if let Some(name) = file.file_name().filter(|_| file.exists()) {
            fs::copy(&file, aside.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

fn remove_files(path: &Path) -> Result<(), StoreError> {
    for file in database_files(path) {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(fail::convert_io_error(&file, "removed", &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the actions that can still be read in a database that is about to be removed. Unreadable ones are
/// unknown.
fn salvage_actions(path: &Path, name: &str) -> Vec<DoubtedAction> {
    let Ok(conn) = open_reader(path) else { return Vec::new() };
    let Ok(Some(id)) = project::find_id(&conn, name) else { return Vec::new() };
    let known = "SELECT spec ->> '$.key', changed_at FROM mutations WHERE project = ?1";
    let Ok(mut find) = conn.prepare(known) else { return Vec::new() };
    let read = |row: &rusqlite::Row<'_>| {
        let key: String = row.get(0)?;
        let at = Time::from_millis(row.get::<_, i64>(1)?.unsigned_abs());
        Ok(DoubtedAction { key: Arc::from(key), at })
    };
    let Ok(found) = find.query_map([id], read) else { return Vec::new() };
    found.map_while(Result::ok).collect()
}
