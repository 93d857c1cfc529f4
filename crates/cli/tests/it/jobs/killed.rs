//! The process that runs the jobs is killed, or the holder of the project beside it ends.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{interrupt, jobs, project, start_watcher};
use crate::project::Project;

/// Pays once in each firing, and hangs at its very first run.
const PAYS: &str = "\
[[job]]
name = \"pay\"
run = \"unstuck mutate --key pay -- sh -c 'echo $UNSTUCK_IDEMPOTENCY_KEY >>paid' || exit 1; \
        [ -f again ] && exit 0; touch again; echo >up; exec sleep 1000\"
schedule = \"every second\"
";

fn history(stage: &Project, job: &str) -> Value {
    serde_json::from_str(&jobs(stage, &["history", job, "--json"]).stdout).unwrap()
}

// T3.12, TX8: the next one goes on with the firing, and what was done in it is not done again.
#[test]
fn a_firing_goes_on_after_the_watcher_was_killed() {
    let stage = project(PAYS);
    stage.fifo("up");
    let watcher = start_watcher(&stage);
    stage.hear("up");
    watcher.kill();
    let mut watcher = start_watcher(&stage);
    watcher.read_until("“pay” is done.");
    assert_eq!(interrupt(watcher), Some(130));
    let history = history(&stage, "pay");
    let first = &history[0]["attempts"];
    assert_eq!(first.as_array().unwrap().len(), 2, "{history:#}");
    assert_eq!(
        (&first[0]["status"], &first[1]["status"], &first[1]["retry_of"]),
        (&"crashed".into(), &"committed".into(), &first[0]["run"])
    );
    let paid = stage.wrote("paid");
    let keys: BTreeSet<&str> = paid.lines().collect();
    assert_eq!(keys.len(), paid.lines().count(), "each firing pays once: {paid}");
    assert!(stage.run_locks().is_empty());
}

#[test]
fn the_watcher_takes_over_when_the_holder_of_the_project_ends() {
    let script = "echo begun >>begun; echo >up; read line <go";
    let stage = project(&format!(
        "[[job]]\nname = \"long\"\nrun = \"{script}\"\nschedule = \"every second\"\n"
    ));
    stage.fifos(&["up", "go", "held", "end"]);
    let holder = stage.start_exec(&["--name", "other"], "echo >held; read line <end");
    stage.hear("held");
    let mut watcher = start_watcher(&stage);
    stage.hear("up");
    // The one that holds the project ends while a job runs.
    stage.let_go("end");
    assert_eq!(holder.wait().code(), Some(0));
    watcher.read_until("work continues");
    assert_eq!(jobs(&stage, &["pause", "long"]).exit, 0);
    assert_eq!(stage.wrote("begun"), "begun\n", "what runs is not begun again");
    stage.let_go("go");
    watcher.read_until("“long” is done.");
    assert_eq!(interrupt(watcher), Some(130));
    let history = history(&stage, "long");
    assert_eq!(history[0]["attempts"].as_array().unwrap().len(), 1, "{history:#}");
}
