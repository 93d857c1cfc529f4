//! Counts the processes of a namespace if the kernel does not limit them, because it does not limit
//! root.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::thread;
use std::time::{Duration, Instant};

/// Pauses between two counts, and the divisor by which counting takes at most a twentieth of the
/// time, unless there is much to count.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_millis(250);
const SHARE: u32 = 20;

/// Number of links of a folder besides those of its subfolders.
const OWN_LINKS: u64 = 2;

/// Waits until there are more than `allowed` processes and threads besides the first process.
#[expect(
    clippy::disallowed_methods,
    reason = "the stage is a program: it has no caller that passes it the time"
)]
pub(super) fn wait_for_more_than(allowed: u64) {
    loop {
        let begun = Instant::now();
        if is_more_than(allowed) {
            return;
        }
        thread::sleep((begun.elapsed() * SHARE).clamp(PAUSE_MIN, PAUSE_MAX));
    }
}

fn is_more_than(allowed: u64) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut count = 0;
    for number in numbers.filter(|number| *number != 1) {
        // A process that has ended meanwhile has no threads.
        let links =
            fs::metadata(format!("/proc/{number}/task")).map_or(OWN_LINKS, |task| task.nlink());
        count += links.saturating_sub(OWN_LINKS);
        if count > allowed {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_on_this_machine_is_more_than_one_and_less_than_everything() {
        assert!(is_more_than(0));
        assert!(!is_more_than(u64::MAX));
        wait_for_more_than(0);
    }
}
