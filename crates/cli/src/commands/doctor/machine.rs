//! Checks the machine: its sandbox, disk space and clock.

use std::env;
use std::path::Path;

use jiff::tz::TimeZone;
use rustix::fs::statvfs;
use unstuck_core::time::Time;
use unstuck_world::commands::Network;
use unstuck_world::process::{Hold, Wall};

use super::finding::Finding;
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
pub(super) fn wall() -> Finding {
    let held = Wall::usual(env::var_os("PATH").as_deref()).try_out();
    match (held.files, held.reading, held.processes) {
        (Hold::Fully, Hold::Fully, Hold::Fully) => Finding::good(
            WALL,
            "agents write to their worktree, read no secrets and reach no other programs",
        ),
        (Hold::Fully, ..) => Finding::warning(
            WALL,
            "agents write to their worktree only, but may read secrets or signal your programs",
            INSTALL,
        ),
        (Hold::Partly, ..) => Finding::warning(
            WALL,
            "agents write to their worktree only, but may empty files elsewhere",
            INSTALL,
        ),
        (Hold::NotPossible | Hold::NotWanted, ..) => Finding::warning(
            WALL,
            "this system cannot keep agents from writing outside their worktree",
            INSTALL,
        ),
    }
}

/// Checks that commands of models have no network where they must have none.
pub(super) fn network(network: Network) -> Finding {
    match network {
        Network::Open => Finding::good(NETWORK, "open to commands, as commands.network says"),
        Network::Landlock => {
            Finding::good(NETWORK, "commands have neither TCP nor UDP (Landlock and seccomp)")
        }
        Network::Bubblewrap => Finding::good(NETWORK, "commands have none (bubblewrap)"),
        Network::Unshare => Finding::good(NETWORK, "commands have none (unshare)"),
        Network::NotPossible => Finding::warning(
            NETWORK,
            "this system cannot keep commands from the network",
            "install bubblewrap, use Linux 6.7 or newer, or run in a container",
        ),
    }
}

/// Checks the disk space where worktrees are created.
pub(super) fn disk(root: &Path) -> Finding {
    match statvfs(root) {
        Ok(found) => room(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => Finding::warning(
            DISK,
            format!("the room on the disk cannot be told: {error}"),
            "look at it yourself: `df -h .`",
        ),
    }
}

fn room(free: u64) -> Finding {
    let said = match free {
        GIGABYTE.. => format!("{} GB free", free / GIGABYTE),
        _ => format!("{} MB free", free / MEGABYTE),
    };
    if free < FREE_BYTES_MIN {
        return Finding::warning(DISK, said, "make room: every task has a worktree of its own");
    }
    Finding::good(DISK, said)
}

/// Checks the clock and its time zone. A clock that was set back makes every wait too long.
pub(super) fn clock(now: Time, newest: Option<Time>) -> Finding {
    if let Some(newest) = newest.filter(|newest| *newest > now) {
        let behind = when::length(newest.since(now));
        let says = format!("it is {behind} behind what was written down last");
        return Finding::warning(CLOCK, says, "set the clock; waits and budgets go by it");
    }
    let zone = TimeZone::system();
    if zone.is_unknown() {
        let says = "the time zone is not known; times of day are in UTC";
        return Finding::warning(CLOCK, says, "set TZ, such as TZ=Europe/Zurich");
    }
    Finding::good(
        CLOCK,
        format!("{}, {}", when::stamp(now), zone.iana_name().unwrap_or("local time")),
    )
}

#[cfg(test)]
mod tests {
    use unstuck_core::time::Span;

    use super::*;
    use crate::commands::doctor::finding::Verdict;

    #[test]
    fn little_room_is_worth_a_look() {
        let cases = [
            (0, "0 MB free", Verdict::Warning),
            (999_999_999, "999 MB free", Verdict::Warning),
            (1_999_999_999, "1 GB free", Verdict::Warning),
            (2_000_000_000, "2 GB free", Verdict::Good),
            (u64::MAX, "18446744073 GB free", Verdict::Good),
        ];
        for (free, says, verdict) in cases {
            let found = room(free);
            assert_eq!((found.says.as_str(), found.verdict), (says, verdict));
        }
    }

    #[test]
    fn a_clock_behind_what_was_written_is_worth_a_look() {
        let now = Time::from_millis(1_800_000_000_000);
        let behind = clock(now, Some(now + Span::from_mins(90)));
        assert_eq!(behind.verdict, Verdict::Warning);
        assert_eq!(behind.says, "it is 1 h behind what was written down last");
        assert!(!clock(now, Some(now)).says.contains("behind"));
        assert!(!clock(now, None).says.contains("behind"));
    }
}
