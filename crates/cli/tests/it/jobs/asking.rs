//! Jobs that need a person: what they are asked, when, and what their answer leads to.

use std::fs;

use unstuck_core::engine::{Rule, Status};
use unstuck_core::fault::ErrorType;
use unstuck_store::tables::{QuestionStatus, RunStatus};

use super::{jobs, project};
use crate::project::Project;

/// A job that always fails with these words.
fn failing(says: &str) -> Project {
    let run = format!("echo try >>tries; [ -f up ] && exit 0; echo '{says}' >&2; exit 1");
    project(&format!("[[job]]\nname = \"mail\"\nrun = {}\n", toml_text(&run)))
}

fn toml_text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn first_status(stage: &Project) -> RunStatus {
    stage.runs("mail")[0].status
}

// T3.1, T3.6: 401 and 403 stop the job with one question; type, message and time are in it, the source
// in the run's record
#[test]
fn a_refused_login_or_right_pauses_the_job_with_one_question() {
    for (says, error_type) in [
        ("HTTP/1.1 401 Unauthorized", ErrorType::Auth),
        ("HTTP/1.1 403 Forbidden", ErrorType::Permission),
    ] {
        let stage = failing(says);
        for _ in 0..2 {
            jobs(&stage, &["run", "mail", "--max-wait", "0"]).exits(3);
        }
        assert_eq!(stage.wrote("tries"), "try\n", "it is not tried again");
        assert_eq!(first_status(&stage), RunStatus::Standing(Status::PausedApproval));
        let question = stage.question();
        assert_eq!(
            (question.error_type, question.status),
            (Some(error_type), QuestionStatus::Pending)
        );
        assert!(question.raw_error.contains(says), "{}", question.raw_error);
        assert_eq!(stage.runs("mail")[0].fault.as_ref().unwrap().source, "exec:mail");
        assert!(question.created_at >= stage.job("mail").moved.fired_at.unwrap());
        assert!(question.text.problem.contains("mail"), "{}", question.text.problem);
    }
}

// T3.2, T3.7: a network error pauses the run as transient; after five more tries a person is asked
#[test]
fn a_passing_trouble_is_tried_five_times_more_and_then_asked_about() {
    let stage = failing("curl: (7) Failed to connect: Connection refused");
    jobs(&stage, &["run", "mail", "--max-wait", "0"]).exits(3);
    assert_eq!(stage.wrote("tries").lines().count(), 6);
    assert_eq!(first_status(&stage), RunStatus::Standing(Status::PausedTransient));
    let question = stage.question();
    assert_eq!(question.why.rule, Rule::MaxRetriesExceeded);
    assert!(question.operator_text.contains("Max retries exceeded"), "{}", question.operator_text);
}

#[test]
fn a_login_is_proved_before_the_script_runs_again() {
    let stage = failing("fatal: Authentication failed");
    let settings = fs::read_to_string(stage.path("unstuck.toml")).unwrap();
    let check = "echo checked >>checks; [ -f up ]";
    let check = format!("{settings}check = {}\n", toml_text(check));
    fs::write(stage.path("unstuck.toml"), check).unwrap();
    let run = || jobs(&stage, &["run", "mail", "--max-wait", "0"]);
    assert_eq!(run().exit, 3);
    assert_eq!(stage.wrote("checks"), "", "there is nothing to prove yet");
    let first = stage.question();
    stage.answer(&first, "provide_credentials");
    run().exits(3);
    assert_eq!((stage.wrote("checks"), stage.wrote("tries")), ("checked\n".into(), "try\n".into()));
    let open = stage.unstuck(&["inbox", "list", "--json"]).output().unwrap();
    let open: serde_json::Value = serde_json::from_slice(&open.stdout).unwrap();
    let open = open.to_string();
    assert!(open.contains("still fails (the check of this job)"), "{open}");
    assert!(open.contains(&first.signature), "the same failure again: {open}");
    fs::write(stage.path("up"), "").unwrap();
    let answered =
        stage.unstuck(&["inbox", "answer", "q1", "provide_credentials"]).output().unwrap();
    assert!(answered.status.success());
    assert_eq!(run().exit, 0);
    assert_eq!(stage.wrote("tries"), "try\ntry\n");
    assert_eq!(stage.job("mail").moved.firing, 1, "it is the firing that was asked about");
}
