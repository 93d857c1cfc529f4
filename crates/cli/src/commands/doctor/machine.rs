//! Checks the machine: its sandbox, disk space and clock.

use std::env;
use std::path::Path;

use jiff::tz::TimeZone;
use rustix::fs::statvfs;
use unstuck_core::time::Time;
use unstuck_world::commands::NetworkIsolation;
use unstuck_world::process::{EnforcementLevel, Wall};

use super::finding::DoctorFinding;
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
            format!("the room on the disk cannot be told: {error}"),
            "look at it yourself: `df -h .`",
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
            "make room: every task has a worktree of its own",
        );
    }
    DoctorFinding::good(DISK, said)
}

/// Checks the clock and its time zone. A clock that was set back makes every wait too long.
pub(super) fn check_clock(now: Time, newest: Option<Time>) -> DoctorFinding {
    if let Some(newest) = newest.filter(|newest| *newest > now) {
        let behind = when::render_duration(newest.since(now));
        let says = format!("it is {behind} behind what was written down last");
        return DoctorFinding::warning(CLOCK, says, "set the clock; waits and budgets go by it");
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

#[cfg(test)]
mod tests {
    use unstuck_core::time::Span;

    use super::*;
    use crate::commands::doctor::finding::DoctorVerdict;

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
        assert_eq!(behind.says, "it is 1 h behind what was written down last");
        assert!(!check_clock(now, Some(now)).says.contains("behind"));
        assert!(!check_clock(now, None).says.contains("behind"));
    }
}
