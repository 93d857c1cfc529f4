//! Compares what a check says about this machine with the machine: a test may print that the disk or the
//! memory is full because that is what the work is about.

use std::fs;
use std::path::Path;

use rustix::fs::statvfs;
use unstuck_core::fault::Code;

/// A disk or a memory with this many free bytes is not full.
const FREE_BYTES_MIN: u64 = 256 * 1_024 * 1_024;

/// Lower-case words about a full memory.
const NO_MEMORY: [&str; 4] = ["allocate memory", "out of memory", "memoryerror", "enomem"];

/// Returns whether the machine shows that the failure `code`, found in `output`, is none of this machine.
pub(super) fn is_refuted(code: Code, output: &str, directory: &Path) -> bool {
    match code {
        Code::EnvDiskFull => has_free_disk(directory) && has_free_disk(&std::env::temp_dir()),
        Code::ToolCrash | Code::EnvUnavailable => {
            let output = output.to_lowercase();
            NO_MEMORY.iter().any(|words| output.contains(words)) && has_free_memory()
        }
        _ => false,
    }
}

fn has_free_disk(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|disk| {
        let has_entries = disk.f_files == 0 || disk.f_favail > 0;
        has_entries && disk.f_bavail.saturating_mul(disk.f_frsize) >= FREE_BYTES_MIN
    })
}

/// Returns whether the kernel has memory to give; a limit of the sandbox is the check's own affair.
fn has_free_memory() -> bool {
    let facts = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = facts.lines().find_map(|line| {
        let kilobytes = line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?;
        kilobytes.parse::<u64>().ok()
    });
    available.is_some_and(|kilobytes| kilobytes.saturating_mul(1_024) >= FREE_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_shows_to_be_false_is_refuted() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(is_refuted(Code::EnvDiskFull, "", here));
        assert!(!is_refuted(Code::EnvDiskFull, "", &here.join("missing")));
        assert!(!is_refuted(Code::EnvDns, "out of memory", here));
        let said = "fork: Cannot allocate memory";
        assert_eq!(is_refuted(Code::ToolCrash, said, here), has_free_memory());
        assert!(!is_refuted(Code::ToolCrash, "input/output error", here));
    }
}
