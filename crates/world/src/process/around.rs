//! Finds the runs that a process belongs to.
//!
//! Every process that a run starts is a descendant of its guard, because the guard adopts orphans,
//! and the guard holds the run's lock. The locks that a process and its ancestors hold therefore
//! determine its runs, and no change that it makes to itself can remove it from them. A process
//! that reaps a run only shares the lock and does not belong to the run. If a guard was killed, the
//! marker in the environment and the control group still tell.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::Pid;

use super::lock::group_name;
use super::marker;
use super::tree::ProcessSnapshot;
use crate::regular_file::allow_missing;

/// Maximum number of ancestors; a longer chain is an error.
const ANCESTORS_MAX: usize = 4_096;
/// Number of attempts to read the chain of ancestors. An ancestor may end during an attempt, and
/// its children are then reparented; a chain that changes during every attempt is an error.
const LOOKS: usize = 8;

/// Returns the names of the lock files in `folder` whose runs the process belongs to, innermost
/// first. An error means that this cannot be determined, and that no statement about the process is
/// possible.
pub fn find_runs_around(process: Pid, folder: &Path) -> io::Result<Vec<String>> {
    let locks = LockFiles::read_folder(folder)?;
    if locks.is_empty() {
        return Ok(Vec::new());
    }
    for _ in 1..LOOKS {
        if let Ok(runs) = locks.find_runs(process) {
            return Ok(runs);
        }
    }
    locks.find_runs(process)
}

/// The lock files of a folder, by their inode.
struct LockFiles<'a> {
    folder: &'a Path,
    names: BTreeMap<u64, (u64, String)>,
}

impl<'a> LockFiles<'a> {
    fn read_folder(folder: &'a Path) -> io::Result<Self> {
        let mut names = BTreeMap::new();
        for file in allow_missing(fs::read_dir(folder))?.into_iter().flatten() {
            let file = file?;
            let Ok(name) = file.file_name().into_string() else { continue };
            // A file that is removed meanwhile belongs to no living run.
            if Path::new(&name).extension().is_some_and(|end| end == "lock")
                && let Ok(known) = file.metadata()
            {
                names.insert(known.ino(), (known.dev(), name));
            }
        }
        Ok(Self { folder, names })
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the runs of a process, innermost first, from a single pass over its ancestors.
    fn find_runs(&self, process: Pid) -> io::Result<Vec<String>> {
        let holders = self.read_holders()?;
        let mut runs: Vec<String> = Vec::new();
        let mut next = Some(process);
        for _ in 0..ANCESTORS_MAX {
            let Some(pid) = next else { return Ok(runs) };
            let seen = ProcessSnapshot::from_pid(pid).ok_or(io::ErrorKind::NotFound)?;
            let held = holders.get(&pid.as_raw_pid()).cloned().unwrap_or_default();
            for name in held.into_iter().chain(self.find_marked(pid)).chain(self.find_grouped(pid))
            {
                if !runs.contains(&name) {
                    runs.push(name);
                }
            }
            // Another process may have got the pid during the pass.
            if ProcessSnapshot::from_pid(pid).is_none_or(|now| now.started != seen.started) {
                return Err(io::ErrorKind::NotFound.into());
            }
            next = seen.parent;
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Returns the lock files that each process holds, from the kernel's table. The device is not
    /// compared, because on some file systems the table and `stat` report different ones.
    fn read_holders(&self) -> io::Result<BTreeMap<i32, Vec<String>>> {
        let mut holders: BTreeMap<i32, Vec<String>> = BTreeMap::new();
        for line in fs::read_to_string("/proc/locks")?.lines() {
            if let Some((pid, inode)) = parse_flock(line)
                && let Some((_, name)) = self.names.get(&inode)
            {
                holders.entry(pid).or_default().push(name.clone());
            }
        }
        Ok(holders)
    }

    /// Returns the runs whose marker is in the environment of a process; none if the environment
    /// cannot be read.
    fn find_marked(&self, pid: Pid) -> Vec<String> {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let Ok(folder) = self.folder.canonicalize() else { return Vec::new() };
        let names = self.names.values().map(|(_, name)| name);
        names.filter(|name| marker::is_marked(&environment, &folder.join(name))).cloned().collect()
    }

    /// Returns the runs whose control group a process is in.
    fn find_grouped(&self, pid: Pid) -> Vec<String> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let is_in =
            |name: &str| groups.lines().any(|line| line.split('/').any(|part| part == name));
        let all = self.names.iter();
        all.filter(|(inode, (device, _))| is_in(&group_name(*device, **inode)))
            .map(|(_, (_, name))| name.clone())
            .collect()
    }
}

/// Parses the guard's pid and the inode of the lock file from a line of the kernel's table:
/// `1: FLOCK  ADVISORY  WRITE 32031 fe:00:7488945 0 EOF`.
fn parse_flock(line: &str) -> Option<(i32, u64)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if words.next()? != "FLOCK" || words.nth(1)? != "WRITE" {
        return None;
    }
    let holder = words.next()?.parse().ok()?;
    let inode = words.next()?.rsplit(':').next()?.parse().ok()?;
    Some((holder, inode))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use rustix::process::getpid;

    use super::*;
    use crate::process::reap_run;

    fn runs_of(process: Pid, folder: &Path) -> Vec<String> {
        find_runs_around(process, folder).unwrap()
    }

    #[test]
    fn whatever_lives_below_the_holder_of_a_lock_lives_in_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let held = folder.path().join("t0-r1.lock");
        let free = folder.path().join("t0-r2.lock");
        assert!(runs_of(getpid(), folder.path()).is_empty());
        let file = File::create(&held).unwrap();
        File::create(free).unwrap();
        assert!(runs_of(getpid(), folder.path()).is_empty(), "no process holds it");
        file.lock().unwrap();
        // A process with a clean environment still belongs to the run.
        let mut below = Command::new("sh");
        below.args(["-c", "read line"]).env_clear().stdin(Stdio::piped());
        let mut below = below.spawn().unwrap();
        assert_eq!(runs_of(Pid::from_child(&below), folder.path()), ["t0-r1.lock"]);
        drop(below.stdin.take());
        below.wait().unwrap();
    }

    #[test]
    fn a_process_that_clears_a_run_away_does_not_live_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("t0-r1.lock");
        let held = reap_run(&lock, Duration::ZERO).unwrap();
        assert!(runs_of(getpid(), folder.path()).is_empty());
        drop(held);
    }

    #[test]
    fn the_mark_is_found_where_the_guard_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().canonicalize().unwrap().join("t3-r4.lock");
        File::create(&lock).unwrap();
        let mut marked = Command::new("sh");
        marked.args(["-c", "echo; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        marked.env(marker::VARIABLE, marker::nest_marker(None, &lock));
        let mut marked = marked.spawn().unwrap();
        let mut byte = [0];
        io::Read::read_exact(&mut marked.stdout.take().unwrap(), &mut byte).unwrap();
        assert_eq!(runs_of(Pid::from_child(&marked), folder.path()), ["t3-r4.lock"]);
        drop(marked.stdin.take());
        marked.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join("t0-r1.lock")).unwrap();
        let mut gone = Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&gone);
        gone.wait().unwrap();
        find_runs_around(pid, folder.path()).unwrap_err();
    }
}
