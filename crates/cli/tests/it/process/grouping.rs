//! Control groups, where the user of the tests may make them; elsewhere there is nothing to see.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use unstuck_world::process::{ProcessEnd, StartFailure};

use super::launches::{Stage, run, runtime, start, text};

/// The folder of our own group, if groups with an end for all of their members can be made in it.
fn own_group(stage: &Stage) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let (root, at) = (mount.split(' ').nth(3)?, mount.split(' ').nth(4)?);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = PathBuf::from(at).join(PathBuf::from(own).strip_prefix(root).ok()?);
    let name = stage.directory().file_name()?.to_owned();
    let probe = own.join(name);
    fs::create_dir(&probe).ok()?;
    let useful = probe.join("cgroup.kill").exists();
    fs::remove_dir(probe).unwrap();
    useful.then_some(own)
}

/// The name that the group of a stage's lock has.
fn name(stage: &Stage) -> String {
    let lock = fs::metadata(stage.lock()).unwrap();
    format!("unstuck-{:x}-{:x}", lock.dev(), lock.ino())
}

#[test]
fn a_program_is_in_its_group_from_its_first_moment() {
    let stage = Stage::new();
    let Some(own) = own_group(&stage) else { return };
    let mut launch = stage.program("grep");
    launch.arguments = vec!["^0::".into(), "/proc/self/cgroup".into()];
    let ended = run(launch);
    assert!(text(&ended).trim_end().ends_with(&name(&stage)), "{}", text(&ended));
    // Its guard is not, and takes the group away in the end.
    assert!(!own.join(name(&stage)).exists());
}

#[test]
fn a_program_that_cannot_start_leaves_no_group() {
    let stage = Stage::new();
    let Some(own) = own_group(&stage) else { return };
    let ended = run(stage.program("no-such-program-anywhere"));
    assert_eq!(ended.how, ProcessEnd::NotStarted(StartFailure::NotFound));
    assert!(!own.join(name(&stage)).exists());
}

// B13: what carries no mark any more is found by its group alone.
#[test]
fn what_hides_its_mark_is_ended_with_its_group() {
    let stage = Stage::new();
    let Some(own) = own_group(&stage) else { return };
    let hidden = "env -i setsid sh -c 'echo hidden $$ >&9; exec sleep 1000'";
    let script = format!("exec 9>alive; ({hidden} &); echo guard $PPID >&9; exec sleep 1000");
    let runtime = runtime();
    let process = start(&runtime, stage.script(&script));
    let mut alive = stage.alive();
    alive.read_lines(2);
    let group = own.join(name(&stage));
    let members = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    let is_member = |pid: Pid| members.lines().any(|line| line == pid.to_string());
    assert!(is_member(alive.pid("hidden")) && !is_member(alive.pid("guard")), "{members}");
    kill_process(alive.pid("guard"), Signal::KILL).unwrap();
    let ended = runtime.block_on(process.wait());
    assert!(alive.has_ended());
    assert_eq!(ended.how, ProcessEnd::Lost { tree_gone: true });
    assert!(!group.exists());
}
