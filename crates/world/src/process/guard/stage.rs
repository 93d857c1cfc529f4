//! The stage: Unstuck's own executable as the init process inside the namespaces. It sets up the
//! inner layers, starts the program, reports to the guard how it ended, and waits for the processes
//! that it leaves. It counts them if the kernel does not limit them, because it does not limit
//! root.
//!
//! The guard reads the messages from a pipe, one JSON object per line ([`StageMessage`]). Processes
//! inside can neither signal nor inspect the stage.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeWriter, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, WaitOptions, getrlimit, getuid, set_dumpable_behavior,
    setrlimit, wait,
};

use super::own_descriptor;
use super::report::{ProgramExit, StageMessage};
use crate::process::ended::{ExceededLimit, StartFailure};
use crate::process::socket::PortForwarder;
use crate::process::wall::{
    Connections, EnforcementLevel, LayerPlacement, Wall, WallEnforcement, WallLayers,
};

/// The argument after the guard's that makes the executable the stage.
pub(super) const ARGUMENT: &str = "__wall";
/// The arguments of the executable that make it the stage.
pub(super) const ARGUMENTS: [&str; 2] = [super::ARGUMENT, ARGUMENT];

/// Exit code if the caller is not a guard.
const MISUSED: u8 = 64;

/// Runs the stage, from its order to the end of all processes in its namespace.
pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some((order, say, program)) = take_handed_over(&mut arguments) else {
        return ExitCode::from(MISUSED);
    };
    // A process that is not dumpable cannot be inspected by other processes of its user.
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return ExitCode::from(MISUSED);
    }
    let Some((layers, wall)) = read_order(order) else { return ExitCode::from(MISUSED) };
    if !serve_forwards(&wall) {
        return ExitCode::from(MISUSED);
    }
    let mut command = Command::new(&program);
    // A process group of its own: a program that signals its group must not hit the stage.
    command.args(arguments).process_group(0);
    let limits = limit_processes(&wall, &say);
    let started = wall.run_behind(&layers, LayerPlacement::InNamespaces, || command.spawn());
    drop(command);
    match started.and_then(|(child, held)| Ok((Pid::from_child(&child?), held))) {
        Ok((main, held)) => {
            StageMessage::Started(WallEnforcement { limits, ..held }).send(&say);
            wait_for_all(main, &say);
        }
        Err(error) => {
            let search = std::env::var_os("PATH").unwrap_or_default();
            let reason = StartFailure::from_io_error(&error, &program, &search);
            StageMessage::Ended(ProgramExit::NotStarted(reason)).send(&say);
        }
    }
    ExitCode::SUCCESS
}

/// Opens the forwarded ports of the namespace, and returns whether they are open when the program
/// begins.
fn serve_forwards(wall: &Wall) -> bool {
    let Connections::Closed(forwards) = &wall.network else { return true };
    if forwards.is_empty() {
        return true;
    }
    let Ok(forwarder) = PortForwarder::bind(forwards) else { return false };
    // It serves until the process ends; errors are noticed by the programs that connect.
    thread::Builder::new().spawn(|| forwarder.serve()).is_ok()
}

/// Reaps every process of the namespace until there is none, and reports how the program ended.
fn wait_for_all(main: Pid, say: &PipeWriter) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == main => {
                if let Some(program) = ProgramExit::from_wait_status(status) {
                    StageMessage::Ended(program).send(say);
                }
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Limits the number of processes. The kernel counts them for each user of each user namespace, but
/// never limits root, whose processes are counted here.
fn limit_processes(wall: &Wall, say: &PipeWriter) -> EnforcementLevel {
    let Some(processes) = wall.limits.processes else { return EnforcementLevel::NotWanted };
    let allowed = getrlimit(Resource::Nproc).maximum.map_or(processes, |max| max.min(processes));
    let limit = Rlimit { current: Some(allowed), maximum: Some(allowed) };
    match setrlimit(Resource::Nproc, limit) {
        Ok(()) if !getuid().is_root() => EnforcementLevel::Fully,
        _ if end_beyond(processes, say).is_ok() => EnforcementLevel::Partly,
        _ => EnforcementLevel::NotPossible,
    }
}

/// Starts a thread that kills all processes of the namespace when there are more processes and
/// threads than allowed: when the first process ends, the kernel kills all others.
#[expect(clippy::disallowed_methods, reason = "the stage is a program, and its end is the wall's")]
fn end_beyond(allowed: u64, say: &PipeWriter) -> io::Result<()> {
    let say = say.try_clone()?;
    let watch = move || {
        wait_for_more_than(allowed);
        let exceeded = ExceededLimit::Processes(allowed);
        StageMessage::Ended(ProgramExit::BeyondLimit(exceeded)).send(&say);
        std::process::exit(0)
    };
    thread::Builder::new().spawn(watch).map(drop)
}

/// Returns the order, the pipe to the guard and the program; the remaining words are the program's
/// arguments.
fn take_handed_over(
    words: &mut impl Iterator<Item = OsString>,
) -> Option<(File, PipeWriter, OsString)> {
    let mut own = || own_descriptor(words.next()?.to_str()?.parse().ok()?).ok();
    // The executable itself was only needed for the start.
    drop(own()?);
    let order = own()?;
    let say = own()?;
    Some((order.into(), say.into(), words.next()?))
}

fn read_order(mut from: File) -> Option<(WallLayers, Wall)> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).ok()?;
    let words = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
    let mut words = words.map(|word| OsStr::from_bytes(word).to_owned());
    Some((WallLayers::from_words(&mut words)?, Wall::from_words(&mut words)?))
}

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
fn wait_for_more_than(allowed: u64) {
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
