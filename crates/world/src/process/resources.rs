//! The limits on resources of a program that its guard applies or measures. The control group, if
//! there is one, is better at memory: see `cgroup.rs`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::ended::ExceededLimit;
use super::wall::{EnforcementLevel, ResourceLimits};

/// Pause between two measurements, unless a measurement takes longer than a twentieth of it.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const SHARE: u32 = 20;

/// Limits the size of the files that this process and its children write. A write beyond it fails
/// with EFBIG, which programs report in words, instead of ending them without a word.
pub(super) fn limit_file_size(limits: ResourceLimits) -> EnforcementLevel {
    let Some(wanted) = limits.file_bytes else { return EnforcementLevel::NotWanted };
    let allowed = getrlimit(Resource::Fsize).maximum.map_or(wanted, |max| max.min(wanted));
    ignore_file_size_signal();
    match setrlimit(Resource::Fsize, Rlimit { current: Some(allowed), maximum: Some(allowed) }) {
        Ok(()) => EnforcementLevel::Fully,
        Err(_) => EnforcementLevel::NotPossible,
    }
}

/// Makes this process ignore SIGXFSZ. The programs that it starts inherit that.
#[expect(unsafe_code, reason = "there is no safe way to ignore a signal")]
fn ignore_file_size_signal() {
    // SAFETY: no handler is installed, and the call needs no state of this process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The limits of a program that the kernel does not enforce. The guard measures what the program
/// uses, and ends it beyond them.
#[derive(Debug)]
pub(super) struct ResourceWatch {
    memory_bytes: Option<u64>,
    disk_free_bytes_min: Option<u64>,
    directory: PathBuf,
    pause: Duration,
    measured_at: Instant,
}

impl ResourceWatch {
    /// Returns the watch over a program in `directory`; `None` if there is nothing to measure.
    pub(super) fn new(
        limits: ResourceLimits,
        directory: &Path,
        is_memory_limited: bool,
    ) -> Option<Self> {
        let memory_bytes = limits.memory_bytes.filter(|_| CAN_MEASURE_MEMORY && !is_memory_limited);
        let disk_free_bytes_min = limits.disk_free_bytes_min.filter(|wanted| *wanted > 0);
        (memory_bytes.is_some() || disk_free_bytes_min.is_some()).then(|| Self {
            memory_bytes,
            disk_free_bytes_min,
            directory: directory.to_owned(),
            pause: PAUSE_MIN,
            measured_at: now(),
        })
    }

    /// Returns the enforcement level of the limit on memory, for a program whose own is `held`.
    pub(super) const fn add_enforcement(&self, held: EnforcementLevel) -> EnforcementLevel {
        match (self.memory_bytes, held) {
            (Some(_), EnforcementLevel::NotPossible) => EnforcementLevel::Partly,
            _ => held,
        }
    }

    /// Returns the time until the next measurement.
    pub(super) fn remaining_pause(&self) -> Duration {
        self.pause.saturating_sub(now().duration_since(self.measured_at))
    }

    /// Measures, if it is time, and returns the limit that is exceeded.
    pub(super) fn find_exceeded(&mut self) -> Option<ExceededLimit> {
        if !self.remaining_pause().is_zero() {
            return None;
        }
        let begun = now();
        let exceeded = self.find_full_disk().or_else(|| self.find_used_memory());
        self.measured_at = now();
        self.pause = (self.measured_at.duration_since(begun) * SHARE).max(PAUSE_MIN);
        exceeded
    }

    fn find_full_disk(&self) -> Option<ExceededLimit> {
        let wanted = self.disk_free_bytes_min?;
        // A file system without blocks does not say what is free.
        let disk = statvfs(&self.directory).ok().filter(|disk| disk.f_blocks > 0)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        (free < wanted).then_some(ExceededLimit::FreeDisk(wanted))
    }

    fn find_used_memory(&self) -> Option<ExceededLimit> {
        let allowed = self.memory_bytes?;
        uses_more_than(allowed).then_some(ExceededLimit::Memory(allowed))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a guard is a program: it has no caller that passes it the time"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(target_os = "linux")]
pub use linux::find_memory_size;
#[cfg(target_os = "linux")]
use linux::uses_more_than;

/// `true` if the memory of a process tree can be measured.
const CAN_MEASURE_MEMORY: bool = cfg!(target_os = "linux");

/// Returns `None`: systems other than Linux have no limit on memory.
#[cfg(not(target_os = "linux"))]
pub const fn find_memory_size() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
const fn uses_more_than(_allowed: u64) -> bool {
    false
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::Path;

    use rustix::process::Pid;

    use crate::process::cgroup::Cgroup;
    use crate::process::tree::list_descendants;

    /// Returns the memory of this machine in bytes, or of the container that this process is in.
    pub fn find_memory_size() -> Option<u64> {
        let facts = fs::read_to_string("/proc/meminfo").ok()?;
        let machine = sum_fields(&facts, &["MemTotal:"])?;
        let home = Cgroup::find_home();
        let limit = home.iter().flat_map(|home| home.ancestors()).filter_map(read_limit).min();
        Some(limit.map_or(machine, |limit| limit.min(machine)))
    }

    fn read_limit(group: &Path) -> Option<u64> {
        fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()
    }

    /// Returns whether the descendants of this process use more than `allowed` bytes of memory. Files
    /// that they have mapped do not count, and memory that they share counts once, as far as that can
    /// be read.
    pub(super) fn uses_more_than(allowed: u64) -> bool {
        let pids: Vec<Pid> = list_descendants().into_iter().map(|process| process.pid).collect();
        let sum = |measure: fn(Pid) -> Option<u64>| -> u64 {
            pids.iter().filter_map(|pid| measure(*pid)).fold(0, u64::saturating_add)
        };
        // The first sum is quick and too large.
        sum(read_resident) > allowed && sum(read_used) > allowed
    }

    /// Returns the resident memory, with files, and with shared memory in full.
    fn read_resident(pid: Pid) -> Option<u64> {
        sum_fields(&read_facts(pid, "status")?, &["VmRSS:", "VmSwap:"])
    }

    /// Returns the memory without files, and with its part of shared memory. If that cannot be read,
    /// shared memory is in it in full.
    fn read_used(pid: Pid) -> Option<u64> {
        let shared_out = read_facts(pid, "smaps_rollup")
            .and_then(|facts| sum_fields(&facts, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]));
        shared_out.or_else(|| {
            sum_fields(&read_facts(pid, "status")?, &["RssAnon:", "RssShmem:", "VmSwap:"])
        })
    }

    fn read_facts(pid: Pid, file: &str) -> Option<String> {
        fs::read_to_string(format!("/proc/{pid}/{file}")).ok()
    }

    /// Returns the sum in bytes of the fields with these names, which are in kilobytes; `None` if
    /// there is none of them.
    fn sum_fields(facts: &str, names: &[&str]) -> Option<u64> {
        let values = facts.lines().filter_map(|line| {
            let value = names.iter().find_map(|name| line.strip_prefix(name))?;
            value.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        values.reduce(u64::saturating_add).map(|kilobytes| kilobytes.saturating_mul(1_024))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn fields_are_added_up_in_bytes() {
            let facts = "VmRSS:\t     100 kB\nVmSwap:\t       5 kB\nThreads:\t7\n";
            assert_eq!(sum_fields(facts, &["VmRSS:", "VmSwap:"]), Some(105 * 1_024));
            assert_eq!(sum_fields(facts, &["Pss:"]), None);
            assert_eq!(sum_fields(facts, &["Threads:"]), None, "it is no size");
        }

        #[test]
        fn a_process_uses_no_more_than_is_resident() {
            let own = rustix::process::getpid();
            let used = read_used(own).unwrap();
            let resident = read_resident(own).unwrap();
            assert!(0 < used && used <= resident, "{used} of {resident}");
            assert!(resident < find_memory_size().unwrap());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_kernel_does_not_limit_is_measured() {
        let here = Path::new("/");
        let none = ResourceLimits { file_bytes: Some(1), ..ResourceLimits::default() };
        assert!(ResourceWatch::new(none, here, false).is_none());
        let disk = ResourceLimits { disk_free_bytes_min: Some(0), ..none };
        assert!(ResourceWatch::new(disk, here, false).is_none(), "nothing is asked for");
        let memory = ResourceLimits { memory_bytes: Some(1), ..none };
        assert!(ResourceWatch::new(memory, here, true).is_none());
        assert_eq!(ResourceWatch::new(memory, here, false).is_some(), CAN_MEASURE_MEMORY);
    }

    #[test]
    fn a_disk_is_full_where_less_is_free_than_asked_for() {
        let full = |wanted| {
            let limits =
                ResourceLimits { disk_free_bytes_min: Some(wanted), ..ResourceLimits::default() };
            ResourceWatch::new(limits, Path::new("/"), false).unwrap().find_full_disk()
        };
        assert_eq!(full(1), None);
        assert_eq!(full(u64::MAX), Some(ExceededLimit::FreeDisk(u64::MAX)));
    }
}
