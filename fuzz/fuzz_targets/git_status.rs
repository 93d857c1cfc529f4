//! Any bytes can be read as git's lists, and what was read names paths.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::git::{parse_worktrees, raw, status};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(entries) = status::parse_status(bytes) {
        // A record takes at least three bytes.
        assert!(entries.len() <= bytes.len() / 3 + 1);
    }
    if let Ok(differences) = raw::parse_differences(bytes) {
        assert!(differences.iter().all(|one| !one.path.as_os_str().is_empty()));
    }
    let _ = parse_worktrees(bytes);
});
