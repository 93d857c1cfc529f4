//! A control group around a process tree, if this process may create one: it kills all of its
//! members at once, however fast they fork and however they change their environment.
//!
//! The program is created in its group and not moved there: to move a process, the kernel
//! waits until no process in the whole system is being started, which takes 5 to 20 ms on a quiet
//! machine. For the same reason no process of the tree is ever outside the group.
//!
//! The group is an addition to walking the tree and no replacement: most users may not create
//! groups.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::mem;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use super::lock::RunLock;
use super::wall::{
    EnforcementLevel, LayerPlacement, ResourceLimits, Wall, WallEnforcement, WallLayers,
};

/// Number of Unstuck's own processes and threads in the group besides the program's: bubblewrap and
/// the init process.
const BESIDE: u64 = 16;

/// A control group of version 2, created by a guard.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    /// `true` if the kernel limits the number of processes of the members, and their memory.
    limits: (bool, bool),
}

impl Cgroup {
    /// Returns the directory of the control group of this process.
    pub(super) fn find_home() -> Option<PathBuf> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let within = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        mounts.lines().find_map(|mount| {
            let (place, kind) = mount.split_once(" - ")?;
            let mut place = place.split(' ').skip(3);
            let root = place.next()?;
            let at = place.next()?;
            let below = Path::new(within).strip_prefix(root).ok()?;
            kind.starts_with("cgroup2 ").then(|| Path::new(at).join(below))
        })
    }

    /// Creates the group of `lock` below `home` and starts `command` in it, behind the inner layers
    /// of `wall`. If no group can be created, the program is started without one.
    pub(super) fn start_program(
        home: Option<&Path>,
        lock: &mut RunLock,
        command: &mut Command,
        (wall, layers): (&Wall, &WallLayers),
        limits: ResourceLimits,
    ) -> (Option<Self>, io::Result<(Pid, WallEnforcement)>) {
        let group = home.and_then(|home| Self::create_below(home, lock));
        let Some(mut group) = group else { return (None, wall.start_command(layers, command)) };
        group.apply_limits(limits);
        match group.start_member(command, wall, layers) {
            Ok(Some((main, held))) => {
                let held = group.add_enforcement(held);
                (Some(group), Ok((main, held)))
            }
            Err(error) => {
                group.remove();
                (None, Err(error))
            }
            Ok(None) => {
                group.remove();
                (None, wall.start_command(layers, command))
            }
        }
    }

    /// Starts a program as a member, behind `wall`; returns `None` if no process can be created in
    /// this group.
    fn start_member(
        &self,
        command: &mut Command,
        wall: &Wall,
        layers: &WallLayers,
    ) -> io::Result<Option<(Pid, WallEnforcement)>> {
        let Ok(group) = File::open(&self.path) else { return Ok(None) };
        let (born, held) = wall
            .run_behind(layers, LayerPlacement::Alone, || start_in_group(group.as_fd(), command))?;
        Ok(born?.map(|main| (main, held)))
    }

    fn create_below(home: &Path, lock: &mut RunLock) -> Option<Self> {
        let path = home.join(lock.cgroup_name().ok()?);
        fs::create_dir(&path).ok()?;
        let group = Self { path, limits: (false, false) };
        // The group is only useful with a kernel that can kill it at once (5.14).
        let useful = group.path.join("cgroup.kill").exists();
        if useful && lock.write_note(group.path.as_os_str().as_bytes()).is_ok() {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Limits the members, if the system has delegated the controllers to the group.
    fn apply_limits(&mut self, limits: ResourceLimits) {
        let set = |name: &str, value: Option<u64>| {
            let Some(value) = value else { return false };
            let file = OpenOptions::new().write(true).open(self.path.join(name));
            file.and_then(|mut file| file.write_all(value.to_string().as_bytes())).is_ok()
        };
        let processes = limits.processes.map(|processes| processes.saturating_add(BESIDE));
        self.limits = (set("pids.max", processes), set("memory.max", limits.memory_bytes));
        if self.limits.1 {
            // All members are killed together, and none of them moves into swap space instead. Both
            // are improvements: without them the limit still holds.
            set("memory.oom.group", Some(1));
            set("memory.swap.max", Some(0));
        }
    }

    /// Returns whether the kernel limits the memory of the members.
    pub(super) const fn limits_memory(&self) -> bool {
        self.limits.1
    }

    /// Returns whether the kernel killed a member because the memory was used up.
    pub(super) fn has_run_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        let mut killed = events.lines().filter_map(|line| line.strip_prefix("oom_kill "));
        killed.any(|times| times != "0")
    }

    /// Returns the enforced parts of a wall, with the limits of the group added.
    pub(super) fn add_enforcement(&self, held: WallEnforcement) -> WallEnforcement {
        let or_fully = |limited, hold| if limited { EnforcementLevel::Fully } else { hold };
        let (processes, memory) = self.limits;
        WallEnforcement {
            limits: or_fully(processes, held.limits),
            memory: or_fully(memory, held.memory),
            ..held
        }
    }

    /// Returns the group left behind by the last guard with this lock, if that guard was killed.
    pub(super) fn find_left_behind(lock: &mut RunLock) -> Option<Self> {
        let path = PathBuf::from(std::ffi::OsString::from_vec(lock.read_note().ok()?));
        // The name has to be that of the lock, so that a wrong note never kills a foreign group.
        let ours =
            path.is_absolute() && path.file_name() == Some(OsStr::new(&lock.cgroup_name().ok()?));
        (ours && path.join("cgroup.kill").exists()).then_some(Self { path, limits: (false, false) })
    }

    /// Kills every member, including those of nested groups.
    pub(super) fn kill(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.kill"), "1")
    }

    /// Returns whether the group or a nested one has a living member.
    pub(super) fn is_populated(&self) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }

    /// Removes the group and the groups below it. A group that is not empty stays, which is
    /// harmless.
    pub(super) fn remove(self) {
        remove_below(&self.path);
    }
}

fn remove_below(path: &Path) {
    // In most cases the group is empty, and this suffices.
    if fs::remove_dir(path).is_ok() {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    let _ = fs::remove_dir(path);
}

/// Clone flag: reset every handled signal to its default action in the child.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
/// Clone flag: create the child in another control group.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Starts `command` in the control group `group`, as a member from its first moment. The standard
/// library does not make the system call that this takes, and takes over again after it. Returns
/// `None` if no process can be created there: the kernel is too old, a sandbox forbids it, or the
/// group accepts no members. An error is about the program itself.
fn start_in_group(group: BorrowedFd<'_>, command: &mut Command) -> io::Result<Option<Pid>> {
    // Both ends are closed on exec: the end of the pipe without a message means success.
    let (mut complaint, mut complain) = io::pipe()?;
    let born = match fork_into(group) {
        Ok(Some(child)) => child,
        Ok(None) => {
            let error = command.exec();
            let number = error.raw_os_error().unwrap_or_default();
            let _ = complain.write_all(&number.to_ne_bytes());
            // The exit code of a shell for a program that it cannot start.
            exit_child(127)
        }
        Err(_) => return Ok(None),
    };
    drop(complain);
    let mut number = [0; 4];
    if complaint.read_exact(&mut number).is_err() {
        return Ok(Some(born));
    }
    // No other code waits for the child.
    let _ = waitpid(Some(born), WaitOptions::empty());
    Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
}

/// Forks this process into a control group; returns `None` in the child.
#[expect(unsafe_code, reason = "only the bare call can name the group that a process is born in")]
fn fork_into(group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    let arguments = libc::clone_args {
        flags: CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND,
        exit_signal: u64::from(Signal::CHILD.as_raw().unsigned_abs()),
        cgroup: u64::from(group.as_raw_fd().unsigned_abs()),
        // SAFETY: all fields are numbers, and zero means "not used" for each of them.
        ..unsafe { mem::zeroed() }
    };
    // SAFETY: this is a fork: memory is copied and not shared, and the arguments outlive the call.
    // No other thread of a guard is running meanwhile, so no lock stays taken forever in the child.
    let child = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>())
    };
    match i32::try_from(child) {
        Ok(0) => Ok(None),
        Ok(child @ 1..) => Ok(Pid::from_raw(child)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends a forked child without running exit handlers: those belong to the parent.
#[expect(unsafe_code, reason = "there is no safe way to leave nothing undone twice")]
pub(super) fn exit_child(status: i32) -> ! {
    // SAFETY: the call does not return, and needs no state of this process.
    unsafe { libc::_exit(status) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_limits_what_the_system_lets_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut group = Cgroup { path: folder.path().to_owned(), limits: (false, false) };
        let limits = ResourceLimits {
            processes: Some(100),
            memory_bytes: Some(4_096),
            ..ResourceLimits::default()
        };
        let counted = WallEnforcement {
            limits: EnforcementLevel::Partly,
            memory: EnforcementLevel::NotPossible,
            ..WallEnforcement::default()
        };
        group.apply_limits(limits);
        assert_eq!(group.add_enforcement(counted), counted, "no file is made where there is none");
        fs::write(folder.path().join("pids.max"), "").unwrap();
        fs::write(folder.path().join("memory.max"), "").unwrap();
        fs::write(folder.path().join("memory.oom.group"), "").unwrap();
        group.apply_limits(limits);
        let fully = WallEnforcement {
            limits: EnforcementLevel::Fully,
            memory: EnforcementLevel::Fully,
            ..counted
        };
        assert_eq!(group.add_enforcement(counted), fully);
        assert_eq!(fs::read_to_string(folder.path().join("pids.max")).unwrap(), "116");
        assert_eq!(fs::read_to_string(folder.path().join("memory.max")).unwrap(), "4096");
        assert_eq!(fs::read_to_string(folder.path().join("memory.oom.group")).unwrap(), "1");
    }

    #[test]
    fn a_group_knows_whether_its_memory_was_used_up() {
        let folder = tempfile::tempdir().unwrap();
        let group = Cgroup { path: folder.path().to_owned(), limits: (false, true) };
        assert!(!group.has_run_out_of_memory(), "it has no such file");
        for (events, used_up) in
            [("oom 3\noom_kill 0\noom_group_kill 0\n", false), ("oom 1\noom_kill 4\n", true)]
        {
            fs::write(folder.path().join("memory.events"), events).unwrap();
            assert_eq!(group.has_run_out_of_memory(), used_up, "{events}");
        }
    }
}
