//! Checks the machine: its sandbox, disk space and clock, and the store: whether it is usable, its holder, its
//! permissions and its newest event.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jiff::tz::TimeZone;
use rustix::fs::{Access, access, statvfs};
use unstuck_core::time::Time;
use unstuck_store::{EventPage, SqliteStore, Store, StoreError};
use unstuck_world::commands::NetworkIsolation;
use unstuck_world::process::{EnforcementLevel, Wall};

use super::DoctorFinding;
use crate::error::CliError;
use crate::project::{self, LocalProject};
use crate::render::when;

const WALL: &str = "wall";
const NETWORK: &str = "network";
const DISK: &str = "disk";
const CLOCK: &str = "clock";

/// Minimum free disk space; less fills up in a night, because each task has a worktree and its build
/// output.
const FREE_BYTES_MIN: u64 = 2 * GIGABYTE;
const GIGABYTE: u64 = 1_000_000_000;
const MEGABYTE: u64 = 1_000_000;

const INSTALL: &str =
    "install bubblewrap, or run in a container; `unstuck doctor --wall` tries it out";

/// Checks by experiment, not by assumption, that agents stay in their worktrees.
pub(super) fn check_sandbox() -> DoctorFinding {
    let held = Wall::with_usual_paths(env::var_os("PATH").as_deref()).try_out();
    match (held.files, held.reading, held.processes) {
        (EnforcementLevel::Fully, EnforcementLevel::Fully, EnforcementLevel::Fully) => {
            DoctorFinding::good(
                WALL,
                "agents write to their worktree, read no secrets and reach no other programs",
            )
        }
        (EnforcementLevel::Fully, ..) => DoctorFinding::warning(
            WALL,
            "agents write to their worktree only, but may read secrets or signal your programs",
            INSTALL,
        ),
        (EnforcementLevel::Partly, ..) => DoctorFinding::warning(
            WALL,
            "agents write to their worktree only, but may empty files elsewhere",
            INSTALL,
        ),
        (EnforcementLevel::NotPossible | EnforcementLevel::NotWanted, ..) => {
            DoctorFinding::warning(
                WALL,
                "this system cannot keep agents from writing outside their worktree",
                INSTALL,
            )
        }
    }
}

/// Checks that commands of models have no network where they must have none.
pub(super) fn check_network(network: NetworkIsolation) -> DoctorFinding {
    match network {
        NetworkIsolation::Open => {
            DoctorFinding::good(NETWORK, "open to commands, as commands.network says")
        }
        NetworkIsolation::Landlock => {
            DoctorFinding::good(NETWORK, "commands have neither TCP nor UDP (Landlock and seccomp)")
        }
        NetworkIsolation::Bubblewrap => {
            DoctorFinding::good(NETWORK, "commands have none (bubblewrap)")
        }
        NetworkIsolation::Unshare => DoctorFinding::good(NETWORK, "commands have none (unshare)"),
        NetworkIsolation::NotPossible => DoctorFinding::warning(
            NETWORK,
            "this system cannot keep commands from the network",
            "install bubblewrap, use Linux 6.7 or newer, or run in a container",
        ),
    }
}

/// Checks the disk space where worktrees are created.
pub(super) fn check_disk(root: &Path) -> DoctorFinding {
    match statvfs(root) {
        Ok(found) => judge_free_space(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => DoctorFinding::warning(
            DISK,
            format!("the free disk space is not known: {error}"),
            "check it yourself: `df -h .`",
        ),
    }
}

fn judge_free_space(free: u64) -> DoctorFinding {
    let said = match free {
        GIGABYTE.. => format!("{} GB free", free / GIGABYTE),
        _ => format!("{} MB free", free / MEGABYTE),
    };
    if free < FREE_BYTES_MIN {
        return DoctorFinding::warning(
            DISK,
            said,
            "free disk space: every task has a worktree of its own",
        );
    }
    DoctorFinding::good(DISK, said)
}

/// Checks the clock and its time zone. A clock that was set back makes every wait too long.
pub(super) fn check_clock(now: Time, newest: Option<Time>) -> DoctorFinding {
    if let Some(newest) = newest.filter(|newest| *newest > now) {
        let behind = when::render_duration(newest.since(now));
        let says = format!("it is {behind} behind the last recorded time");
        return DoctorFinding::warning(
            CLOCK,
            says,
            "set the clock; waits and budgets depend on it",
        );
    }
    let zone = TimeZone::system();
    if zone.is_unknown() {
        let says = "the time zone is not known; times of day are in UTC";
        return DoctorFinding::warning(CLOCK, says, "set TZ, such as TZ=Europe/Zurich");
    }
    DoctorFinding::good(
        CLOCK,
        format!("{}, {}", when::render_stamp(now), zone.iana_name().unwrap_or("local time")),
    )
}

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
            vec![DoctorFinding::good(STORE, "nothing was run here yet; .unstuck/ will be created")],
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
    let says = format!("other users of this machine can read .unstuck/ (mode {:o})", mode & 0o777);
    (mode & OTHERS != 0).then(|| DoctorFinding::warning(STORE, says, "`chmod 700 .unstuck`"))
}

#[cfg(test)]
mod tests {
    use unstuck_core::time::Span;

    use super::*;
    use crate::commands::doctor::DoctorVerdict;

    #[test]
    fn little_room_is_worth_a_look() {
        let cases = [
            (0, "0 MB free", DoctorVerdict::Warning),
            (999_999_999, "999 MB free", DoctorVerdict::Warning),
            (1_999_999_999, "1 GB free", DoctorVerdict::Warning),
            (2_000_000_000, "2 GB free", DoctorVerdict::Good),
            (u64::MAX, "18446744073 GB free", DoctorVerdict::Good),
        ];
        for (free, says, verdict) in cases {
            let found = judge_free_space(free);
            assert_eq!((found.says.as_str(), found.verdict), (says, verdict));
        }
    }

    #[test]
    fn a_clock_behind_what_was_written_is_worth_a_look() {
        let now = Time::from_millis(1_800_000_000_000);
        let behind = check_clock(now, Some(now + Span::from_mins(90)));
        assert_eq!(behind.verdict, DoctorVerdict::Warning);
        assert_eq!(behind.says, "it is 1 h behind the last recorded time");
        assert!(!check_clock(now, Some(now)).says.contains("behind"));
        assert!(!check_clock(now, None).says.contains("behind"));
    }
}
