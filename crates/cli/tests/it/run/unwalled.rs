//! Agents with all permissions do not start where no sandbox keeps them in, whatever starts them.

use std::fs;
use std::process::Command;

use crate::program::{Ran, ran};
use crate::project::Project;

const WORK: &str = r#"{write = "work/a.txt", text = "broken\n"}"#;
/// What a refused start says.
const REFUSED: &str = "this machine cannot keep agents from your files and programs";

/// The program on a machine without a sandbox, with agents that may do everything.
fn without_wall(stage: &Project, args: &[&str]) -> Command {
    let mut unstuck = stage.unstuck(args);
    unstuck
        .env("UNSTUCK_AGENT_PERMISSIONS", "everything")
        .env("UNSTUCK_WITHOUT_LAYERS", "bubblewrap,landlock,seccomp");
    unstuck
}

fn run(mut unstuck: Command) -> Ran {
    ran(unstuck.output().unwrap())
}

// B34: a new build does not begin, unless the settings say so
#[test]
fn a_build_does_not_begin_without_a_wall() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[r#"{write = "work/a.txt", text = "fine\n"}"#]);
    stage.commit();
    let refused = run(without_wall(&stage, &["run", "write a"])).exits(78);
    assert!(refused.stderr.contains(REFUSED), "{refused}");
    assert!(!stage.database().exists() || stage.tasks().is_empty(), "{refused}");
    let mut allowed = without_wall(&stage, &["run", "write a"]);
    allowed.env("UNSTUCK_WALL_ALLOW_MISSING", "true");
    run(allowed).exits(0);
}

// B34: neither does a build that began where there was one
#[test]
fn a_build_is_not_resumed_without_a_wall() {
    let stage = Project::with_agents();
    let started = stage.path("started");
    let work = format!(r#"{{run = "touch '{}'; true"}}, {WORK}"#, started.display());
    stage.agent("write-a", &[&*work; 6]);
    stage.commit();
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let _ = fs::remove_file(&started);
    stage.answer(&stage.question(), "provide_guidance");
    let refused = run(without_wall(&stage, &["resume", "--max-wait", "0"])).exits(78);
    assert!(refused.stderr.contains(REFUSED), "{refused}");
    assert!(!started.exists(), "an agent was started: {refused}");
}

// B34: a command is run, because it is the person's own; its repair is refused
#[test]
fn a_script_is_not_repaired_without_a_wall() {
    let stage = Project::with_agents();
    stage.replace_setting("{task}", "one");
    stage.agent("one", &[WORK]);
    stage.write("sync.sh", "echo ran >ran.txt\n");
    stage.commit();
    let ended = run(without_wall(&stage, &["exec", "--", "sh", "sync.sh"])).exits(0);
    assert!(ended.stderr.contains(REFUSED), "{ended}");
    assert!(stage.path("ran.txt").exists(), "{ended}");
    let asked = ["exec", "--repair=commit", "--", "sh", "sync.sh"];
    let refused = run(without_wall(&stage, &asked)).exits(78);
    assert!(refused.stderr.contains(REFUSED), "{refused}");
}
