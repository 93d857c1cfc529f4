//! Checks the store: whether it is usable, its holder, its permissions and its newest event.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Access, access};
use unstuck_core::time::Time;
use unstuck_store::{Page, SqliteStore, Store, StoreError};

use super::finding::Finding;
use crate::error::Error;
use crate::project::{self, Project};

const STORE: &str = "store";
/// The permission bits of other users.
const OTHERS: u32 = 0o077;

/// Returns the findings and the time of the newest event.
pub(super) async fn look(project: &Project) -> (Vec<Finding>, Option<Time>) {
    let folder = project.folder();
    let database = project.database();
    let writable: &Path = if database.exists() { &database } else { nearest(&folder) };
    if let Err(error) = access(writable, Access::WRITE_OK) {
        let place = writable.display().to_string();
        let error = Error::Folder { place, source: io::Error::from(error) };
        return (vec![Finding::of_error(STORE, &error, None)], None);
    }
    if !SqliteStore::was_made(&database) {
        return (
            vec![Finding::good(STORE, "nothing was run here yet; .unstuck/ will hold it")],
            None,
        );
    }
    // Checked first, because opening the store corrects the permissions.
    let open = open_to_others(&folder);
    match newest(project).await {
        Err(error) => (vec![Finding::of_error(STORE, &error, None)], None),
        Ok(newest) => {
            let mut findings = vec![Finding::good(STORE, held(project).await)];
            findings.extend(open);
            (findings, newest)
        }
    }
}

/// Returns the folder itself, or its nearest existing ancestor.
fn nearest(folder: &Path) -> &Path {
    folder.ancestors().find(|path| path.exists()).unwrap_or(folder)
}

async fn newest(project: &Project) -> Result<Option<Time>, Error> {
    let store = project.store()?;
    Ok(last_event(store.as_ref(), project.name()).await?)
}

async fn last_event(store: &dyn Store, project: &str) -> Result<Option<Time>, StoreError> {
    let last = store.newest(project).await?;
    let Some(after) = last.checked_sub(1) else { return Ok(None) };
    let events = store.events(project, Page { after, limit: 1 }).await?;
    Ok(events.first().map(|recorded| recorded.at))
}

async fn held(project: &Project) -> String {
    match project::current_holder(project).await {
        Some(holder) => format!(".unstuck/state.db, in use by {holder}"),
        None => ".unstuck/state.db, not in use".to_owned(),
    }
}

/// Returns a warning if other users can read the folder, which may hold code and conversations of the
/// project.
fn open_to_others(folder: &Path) -> Option<Finding> {
    let mode = fs::metadata(folder).ok()?.permissions().mode();
    let says = format!("others on this machine may look into .unstuck/ (mode {:o})", mode & 0o777);
    (mode & OTHERS != 0).then(|| Finding::warning(STORE, says, "`chmod 700 .unstuck`"))
}
