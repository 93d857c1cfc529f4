//! Checks the store: whether it is usable, its holder, its permissions and its newest event.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Access, access};
use unstuck_core::time::Time;
use unstuck_store::{EventPage, SqliteStore, Store, StoreError};

use super::finding::DoctorFinding;
use crate::error::CliError;
use crate::project::{self, LocalProject};

const STORE: &str = "store";
/// The permission bits of other users.
const OTHERS: u32 = 0o077;

/// Returns the findings and the time of the newest event.
pub(super) async fn check_store(project: &LocalProject) -> (Vec<DoctorFinding>, Option<Time>) {
    let folder = project.unstuck_folder();
    let database = project.database_path();
    let writable: &Path = if database.exists() { &database } else { nearest_existing(&folder) };
    if let Err(error) = access(writable, Access::WRITE_OK) {
        let place = writable.display().to_string();
        let error = CliError::Folder { place, source: io::Error::from(error) };
        return (vec![DoctorFinding::from_error(STORE, &error, None)], None);
    }
    if !SqliteStore::was_made(&database) {
        return (
            vec![DoctorFinding::good(STORE, "nothing was run here yet; .unstuck/ will hold it")],
            None,
        );
    }
    // Checked first, because opening the store corrects the permissions.
    let open = check_permissions(&folder);
    match load_newest_time(project).await {
        Err(error) => (vec![DoctorFinding::from_error(STORE, &error, None)], None),
        Ok(newest) => {
            let mut findings = vec![DoctorFinding::good(STORE, render_holder(project).await)];
            findings.extend(open);
            (findings, newest)
        }
    }
}

/// Returns the folder itself, or its nearest existing ancestor.
fn nearest_existing(folder: &Path) -> &Path {
    folder.ancestors().find(|path| path.exists()).unwrap_or(folder)
}

async fn load_newest_time(project: &LocalProject) -> Result<Option<Time>, CliError> {
    let store = project.open_store()?;
    Ok(load_last_event_time(store.as_ref(), project.name()).await?)
}

async fn load_last_event_time(
    store: &dyn Store,
    project: &str,
) -> Result<Option<Time>, StoreError> {
    let last = store.load_newest_seq(project).await?;
    let Some(after) = last.checked_sub(1) else { return Ok(None) };
    let events = store.load_events(project, EventPage { after, limit: 1 }).await?;
    Ok(events.first().map(|recorded| recorded.at))
}

async fn render_holder(project: &LocalProject) -> String {
    match project::current_holder(project).await {
        Some(holder) => format!(".unstuck/state.db, in use by {holder}"),
        None => ".unstuck/state.db, not in use".to_owned(),
    }
}

/// Returns a warning if other users can read the folder, which may hold code and conversations of the
/// project.
fn check_permissions(folder: &Path) -> Option<DoctorFinding> {
    let mode = fs::metadata(folder).ok()?.permissions().mode();
    let says = format!("others on this machine may look into .unstuck/ (mode {:o})", mode & 0o777);
    (mode & OTHERS != 0).then(|| DoctorFinding::warning(STORE, says, "`chmod 700 .unstuck`"))
}
