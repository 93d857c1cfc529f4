//! `unstuck jobs` as a person and a machine at night meet it: real scripts at real times.

mod asking;
mod killed;
mod repairing;
mod settings;
mod storm;
mod telling;
mod using;
mod watching;

use std::fs;

use rustix::process::Signal;
use unstuck_testkit::stage::RunningProgram;

use crate::program::{Ran, finish};
use crate::project::Project;

/// Waits are short: a test does not wait for minutes.
const QUICK: &str = "[backoff]\nbase = \"1ms\"\ncap = \"5ms\"\n";

/// A project with these settings.
fn project(settings: &str) -> Project {
    let stage = Project::new();
    fs::write(stage.path("unstuck.toml"), format!("{QUICK}{settings}")).unwrap();
    stage
}

fn jobs(stage: &Project, args: &[&str]) -> Ran {
    finish(stage.unstuck(&["jobs"]).args(args).env("TZ", "UTC"))
}

/// Starts a process that runs the jobs at their times.
fn start_watcher(stage: &Project) -> RunningProgram {
    let mut watch = stage.unstuck(&["jobs", "--watch"]);
    watch.env("TZ", "UTC");
    let mut watcher = RunningProgram::follow_stdout(watch);
    watcher.read_until("Ctrl-C ends it");
    watcher
}

/// Ctrl-C, and the exit code that the watcher ends with.
fn interrupt(mut watcher: RunningProgram) -> Option<i32> {
    watcher.signal(Signal::INT);
    watcher.read_until("Stopping");
    watcher.wait().code()
}
