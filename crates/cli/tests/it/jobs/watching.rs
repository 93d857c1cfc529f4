//! Jobs at their times.

use std::fs;

use unstuck_core::question::QuestionKind;
use unstuck_store::tables::QuestionStatus;

use super::{interrupt, jobs, project, start_watcher};

const EVERY_SECOND: &str = "\
[[job]]
name = \"mail\"
run = \"echo said; echo err >&2; read line || echo nothing to read\"
schedule = \"every second\"
";

#[test]
fn jobs_run_at_their_times_and_their_output_is_kept() {
    let stage = project(EVERY_SECOND);
    let mut watcher = start_watcher(&stage);
    watcher.read_until("Running “mail”.");
    watcher.read_until("“mail” is done.");
    watcher.read_until("“mail” is done.");
    let second = jobs(&stage, &["--watch"]);
    assert!(second.exit == 75 && second.stderr.contains("jobs --watch` (process"), "{second}");
    let listed = jobs(&stage, &[]);
    assert!(listed.stdout.contains("runs every second, next"), "{listed}");
    assert_eq!(jobs(&stage, &["pause", "mail"]).exit, 0);
    let ran = jobs(&stage, &["run", "mail"]);
    assert!(ran.exit == 0 && ran.stderr.contains(".unstuck/logs/mail/"), "{ran}");
    let status = String::from_utf8(stage.unstuck(&["status"]).output().unwrap().stdout).unwrap();
    assert!(status.contains("Stopped · paused; runs only on request"), "{status}");
    assert_eq!(interrupt(watcher), Some(130));
    let log = fs::read_to_string(stage.path(".unstuck/logs/mail/1.log")).unwrap();
    assert!(log.contains("said\n") && log.contains("err\n") && log.contains("nothing to read\n"));
    assert!(stage.run_locks().is_empty());
    assert!(jobs(&stage, &[]).stdout.contains("nothing runs them on schedule"));
}

/// A job that is due again whenever it ends.
const ALWAYS_DUE: &str = "\
[[job]]
name = \"long\"
run = \"sleep 1.2\"
schedule = \"every second\"
";

// B18: the run that was asked for is over, although the watcher has begun the next one.
#[test]
fn a_run_beside_the_watcher_ends_with_the_job() {
    let stage = project(ALWAYS_DUE);
    let watcher = start_watcher(&stage);
    let ran = jobs(&stage, &["run", "long"]);
    assert!(ran.exit == 0 && ran.stderr.contains(".unstuck/logs/long/"), "{ran}");
    interrupt(watcher);
}

#[test]
fn what_runs_is_ended_with_the_watcher_and_begins_again() {
    let script = "echo begun >>begun; [ -f calm ] || exec sleep 1000";
    let stage = project(&format!(
        "[[job]]\nname = \"long\"\nrun = \"{script}\"\nschedule = \"every second\"\n"
    ));
    let mut watcher = start_watcher(&stage);
    watcher.read_until("Running “long”.");
    assert_eq!(interrupt(watcher), Some(130));
    assert!(stage.run_locks().is_empty(), "nothing is left running");
    fs::write(stage.path("calm"), "").unwrap();
    let mut watcher = start_watcher(&stage);
    watcher.read_until("“long” is done.");
    assert_eq!(interrupt(watcher), Some(130));
}

#[test]
fn secrets_do_not_reach_the_output_that_is_kept() {
    let stage = project(
        "[[job]]\nname = \"leak\"\nrun = \"echo key sk-ant-api03-$(printf a%.0s $(seq 95))\"\nschedule = \"1s\"\n",
    );
    let mut watcher = start_watcher(&stage);
    watcher.read_until("“leak” is done.");
    interrupt(watcher);
    let log = fs::read_to_string(stage.path(".unstuck/logs/leak/1.log")).unwrap();
    assert!(log.contains("[redacted") && !log.contains("aaaaaaaa"), "{log}");
}

/// A job that says when it has begun, and waits.
const WAITS: &str = "\
[[job]]
name = \"long\"
run = \"echo begun >>begun; echo >up; read line <go\"
schedule = \"every second\"
";

#[test]
fn a_change_of_the_settings_is_taken_over_and_what_runs_goes_on() {
    let stage = project(WAITS);
    stage.fifos(&["up", "go"]);
    let settings = fs::read_to_string(stage.path("unstuck.toml")).unwrap();
    // In one step: half a file would be settings of its own.
    let write = |text: &str| {
        fs::write(stage.path("unstuck.toml.new"), text).unwrap();
        fs::rename(stage.path("unstuck.toml.new"), stage.path("unstuck.toml")).unwrap();
    };
    let mut watcher = start_watcher(&stage);
    stage.hear("up");
    write(&format!("{settings}hue = \"5m\"\n"));
    let said = watcher.read_until("the old ones stay");
    assert!(said.contains("hue"), "{said}");
    let run = "run = \"echo begun >>begun; echo >up; read line <go\"";
    let more = "[[job]]\nname = \"more\"\nrun = \"echo more >>more\"\nschedule = \"1s\"\n";
    let changed = settings.replace(run, "run = \"echo again >>again\"");
    write(&format!("{changed}{more}"));
    watcher.read_until("the settings have changed; new: more; changed: long.");
    stage.let_go("go");
    watcher.read_until("“long” is done.");
    assert_eq!(stage.wrote("begun"), "begun\n", "what ran was neither ended nor begun again");
    watcher.read_until("“more” is done.");
    watcher.read_until("“long” is done.");
    assert!(stage.wrote("again").starts_with("again\n"));
    // A file of its own, in a folder that was not there.
    fs::create_dir(stage.path("jobs")).unwrap();
    fs::write(stage.path("jobs/third.md"), "---\nrun: \"true\"\nschedule: 1s\n---\n").unwrap();
    watcher.read_until("new: third.");
    watcher.read_until("“third” is done.");
    write("");
    watcher.read_until("gone: long, more.");
    assert_eq!(interrupt(watcher), Some(130));
}

/// A job that needs a service, which is not there until the file `up` is.
const NEEDS_A_SERVICE: &str = "\
[[job]]
name = \"sync\"
run = \"[ -f up ] || exec unstuck fail --code NETWORK_UNAVAILABLE; echo x >>synced\"
schedule = \"every second\"
";

// T3.7: it keeps its times in an outage, says so after three firings, and goes on by itself.
#[test]
fn a_job_in_an_outage_keeps_its_schedule_and_goes_on_when_the_outage_ends() {
    let stage = project(NEEDS_A_SERVICE);
    let mut watcher = start_watcher(&stage);
    for _ in 0..3 {
        watcher.read_until("Gave up on “sync” this time: ");
    }
    watcher.read_until("Running “sync”.");
    let question = stage.question();
    assert_eq!(question.kind, QuestionKind::Passing);
    let shown = stage.unstuck(&["inbox", "show", &question.id.to_string()]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Try again") && shown.contains("I keep its schedule"), "{shown}");
    fs::write(stage.path("up"), "").unwrap();
    watcher.read_until("“sync” is done.");
    watcher.read_until("“sync” is done.");
    assert_eq!(stage.questions()[0].status, QuestionStatus::Withdrawn);
    assert_eq!(interrupt(watcher), Some(130));
    assert!(stage.wrote("synced").starts_with("x\nx\n"));
}

#[test]
fn a_short_outage_is_no_question_and_how_soon_there_is_one_can_be_set() {
    let stage = project(&format!("{NEEDS_A_SERVICE}alert_after = {{ firings = 50 }}\n"));
    let mut watcher = start_watcher(&stage);
    for _ in 0..4 {
        watcher.read_until("Gave up on “sync” this time: ");
    }
    assert_eq!(stage.questions().len(), 0);
    fs::write(stage.path("up"), "").unwrap();
    watcher.read_until("“sync” is done.");
    assert_eq!(interrupt(watcher), Some(130));
}
