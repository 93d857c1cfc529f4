//! Jobs by hand: added, listed, run, paused, and what became of them.

use serde_json::Value;

use super::{jobs, project};

#[test]
fn a_job_is_added_listed_run_and_remembered() {
    let stage = project("");
    let none = jobs(&stage, &[]);
    assert!(none.exit == 2 && none.stderr.contains("jobs add"), "{none}");
    jobs(&stage, &["add", "mail", "--schedule", "0 3 * * 1-5", "--", "echo hello"]).exits(0);
    let command =
        ["add", "sum", "--file", "--goal", "Add it up", "--", "sh", "-c", "echo $((1+1))"];
    assert_eq!(jobs(&stage, &command).exit, 0);
    let again = jobs(&stage, &["add", "mail", "--schedule", "now", "--", "true"]);
    assert!(again.exit == 2 && again.stderr.contains("already"), "{again}");
    assert!(again.stderr.contains("is no schedule"), "all of it at once: {again}");
    insta::assert_snapshot!(jobs(&stage, &["list"]));
    let ran = jobs(&stage, &["run", "mail"]);
    assert_eq!((ran.exit, ran.stdout.as_str(), ran.stderr.as_str()), (0, "hello\n", ""));
    assert_eq!(jobs(&stage, &["run", "sum"]).stdout, "2\n");
    assert_eq!(jobs(&stage, &["run", "sum"]).stdout, "2\n");
    let history: Value =
        serde_json::from_str(&jobs(&stage, &["history", "sum", "--json"]).stdout).unwrap();
    let numbers: Vec<_> = history.as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert_eq!(numbers, [1, 2]);
    let mistyped = jobs(&stage, &["run", "mails"]);
    assert!(mistyped.exit == 2 && mistyped.stderr.contains("did you mean mail?"), "{mistyped}");
    let exec = stage.run_exec(&["--name", "mail"], "true");
    assert_eq!(exec.status.code(), Some(2), "the settings say what it runs");
}

#[test]
fn a_firing_has_its_attempts_in_the_history() {
    let script = "[ -f up ] && exit 0; touch up; echo 'curl: (7) connection refused' >&2; exit 7";
    let stage = project(&format!("[[job]]\nname = \"net\"\nrun = \"{script}\"\n"));
    assert_eq!(jobs(&stage, &["run", "net", "-q"]).exit, 0);
    assert_eq!(jobs(&stage, &["run", "net"]).exit, 0);
    let history: Value =
        serde_json::from_str(&jobs(&stage, &["history", "net", "--json"]).stdout).unwrap();
    let attempts: Vec<usize> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["attempts"].as_array().unwrap().len())
        .collect();
    assert_eq!(attempts, [2, 1], "{history:#}");
    let first = &history[0]["attempts"];
    assert_eq!(
        (&first[0]["status"], &first[1]["status"]),
        (&"paused:transient".into(), &"committed".into())
    );
    assert_eq!(first[1]["retry_of"], first[0]["run"]);
    assert_eq!(first[0]["code"], "ENV_CONNECTION");
}

#[test]
fn a_paused_job_says_so_and_still_runs_when_asked_for() {
    let stage = project("[[job]]\nname = \"mail\"\nrun = \"echo hi\"\nschedule = \"1h\"\n");
    assert!(jobs(&stage, &["pause", "mail"]).stdout.contains("is paused."));
    assert!(jobs(&stage, &["pause", "mail"]).stdout.contains("paused already"));
    assert!(jobs(&stage, &[]).stdout.contains("paused; runs only on request"));
    assert_eq!(jobs(&stage, &["run", "mail"]).stdout, "hi\n");
    assert!(stage.job("mail").moved.held);
    assert!(jobs(&stage, &["resume", "mail"]).stdout.contains("on its schedule again"));
    assert!(!stage.job("mail").moved.held);
    assert_eq!(jobs(&stage, &["pause", "unknown"]).exit, 2);
}
