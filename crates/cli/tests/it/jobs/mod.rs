//! `unstuck jobs` as a person and a machine at night meet it: real scripts at real times.

mod asking;
mod killed;
mod repairing;
mod settings;
mod telling;
mod using;
mod watching;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout};

use rustix::process::{Pid, Signal, kill_process};

use crate::exec::stage::Stage;
use crate::program::{Ran, ran};

/// Waits are short: a test does not wait for minutes.
const QUICK: &str = "[backoff]\nbase = \"1ms\"\ncap = \"5ms\"\n";

/// A project with these settings.
fn project(settings: &str) -> Stage {
    let stage = Stage::new();
    fs::write(stage.path("unstuck.toml"), format!("{QUICK}{settings}")).unwrap();
    stage
}

fn jobs(stage: &Stage, args: &[&str]) -> Ran {
    let mut unstuck = stage.unstuck(&["jobs"]);
    ran(unstuck.args(args).env("TZ", "UTC").output().unwrap())
}

/// A process that runs the jobs at their times.
struct Watcher {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Watcher {
    fn start(stage: &Stage) -> Self {
        let mut watch = stage.unstuck(&["jobs", "--watch"]);
        let mut child = watch.env("TZ", "UTC").process_group(0).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut watcher = Self { child, said };
        watcher.hear("Ctrl-C ends it");
        watcher
    }

    /// Reads what it says until a line holds these words.
    fn hear(&mut self, words: &str) -> String {
        let mut said = String::new();
        while !said.contains(words) {
            let read = self.said.read_line(&mut said).unwrap();
            assert!(read > 0, "it ended before it said {words:?}: {said}");
        }
        said
    }

    /// Kills it without a word.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ctrl-C, and what it ends with.
    fn interrupt(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.hear("ending");
        self.child.wait().unwrap().code()
    }
}
