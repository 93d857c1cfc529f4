//! A command that fails: what passes is waited out, what does not is asked.

use unstuck_core::fault::Code;
use unstuck_store::tables::QuestionStatus;

use crate::program::OutputText as _;
use crate::project::Project;

/// Fails until a person has logged in.
const NEEDS_LOGIN: &str =
    "echo try >>tries; [ -f login ] || { echo 'fatal: Authentication failed' >&2; exit 1; }";

// T3.14
#[test]
fn passing_trouble_is_waited_out() {
    let stage = Project::new();
    let script = "echo $UNSTUCK_RETRY >>tries; [ -f up ] && exit 0; touch up; \
                  echo 'curl: (7) connection refused' >&2; exit 7";
    let ran = stage.run_exec(&["--name", "job"], script).exits(0);
    assert_eq!(stage.wrote("tries"), "0\n1\n");
    let runs = stage.runs("job");
    let chain: Vec<_> = runs.iter().map(|run| (run.retry_of, run.fault.is_some())).collect();
    assert_eq!(chain, [(None, true), (Some(runs[0].id), false)]);
    // What it wrote itself, and what is said about it.
    let said = ran.err();
    assert!(said.starts_with("curl: (7) connection refused\nunstuck: "), "{said}");
}

// B6
#[test]
fn an_answer_given_while_no_process_runs_is_taken_up_by_the_next() {
    let stage = Project::new();
    let options = ["--name", "job", "--max-wait", "0"];
    let ran = stage.run_exec(&options, NEEDS_LOGIN).exits(3);
    let said = ran.err();
    assert!(said.contains("unstuck inbox answer q0 provide_credentials"), "{said}");
    // Without an answer it is not tried again.
    assert_eq!(stage.run_exec(&options, NEEDS_LOGIN).status.code(), Some(3));
    assert_eq!(stage.wrote("tries"), "try\n");
    std::fs::write(stage.path("login"), "").unwrap();
    let answered = stage.answer(&stage.question(), "provide_credentials");
    assert_eq!(answered.out(), "Answered. It continues when its command is run again.\n");
    stage.run_exec(&options, NEEDS_LOGIN).exits(0);
    assert_eq!(stage.wrote("tries"), "try\ntry\n");
    assert_eq!(stage.job("job").moved.firing, 1);
    assert_eq!(stage.question().status, QuestionStatus::Resolved);
}

// B85: what is missing or refused on this machine is named, and is no outside service
#[test]
fn what_a_command_lacks_on_this_machine_is_named() {
    let asked = |script: &str| {
        let stage = Project::new();
        let options = ["--name", "job", "--repair=off", "--max-wait", "0"];
        stage.run_exec(&options, script).exits(3);
        let shown = stage.unstuck(&["inbox", "show", "0"]).output().unwrap();
        shown.out().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let missing = asked("frobnicate --all");
    assert!(missing.contains("is not installed: “frobnicate”"), "{missing}");
    assert!(missing.contains("Please install the program"), "{missing}");
    assert!(missing.contains("Nothing is set up to repair this job."), "{missing}");
    assert!(!missing.contains("0 repairs"), "{missing}");
    let denied = "echo 'mkdir: cannot create directory ‘/srv/shop’: Permission denied' >&2; exit 1";
    let refused = asked(denied);
    assert!(!refused.contains("outside service"), "{refused}");
    assert!(refused.contains("was not allowed to do what it needs"), "{refused}");
    assert!(refused.contains("/srv/shop"), "{refused}");
}

// B18, TX3: from a second process, while the first waits.
#[test]
fn an_answer_given_while_it_waits_is_taken_up_at_once() {
    let stage = Project::new();
    let mut exec = stage.start_exec(&["--name", "job"], NEEDS_LOGIN);
    exec.read_until("It waits here for your answer.");
    let inbox = stage.unstuck(&["inbox"]).output().unwrap();
    assert!(inbox.out().contains("provide_credentials"), "{}", inbox.out());
    std::fs::write(stage.path("login"), "").unwrap();
    let answered = stage.answer(&stage.question(), "provide_credentials");
    assert_eq!(answered.out(), "Answered. It continues.\n");
    let (status, _, said) = exec.read_to_end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(stage.wrote("tries"), "try\ntry\n");
    let told = |name: &str| {
        let value = |recorded| serde_json::to_value(recorded).unwrap().to_string();
        stage.events().iter().map(value).any(|event| event.contains(name))
    };
    assert!(told("agent.escalation_resolved"));
    // One answer per question.
    assert_eq!(stage.answer(&stage.question(), "skip_feature").status.code(), Some(2));
}

#[test]
fn what_a_person_leaves_out_is_not_run() {
    let stage = Project::new();
    let mut exec = stage.start_exec(&["--name", "job"], NEEDS_LOGIN);
    exec.read_until("It waits here for your answer.");
    assert!(stage.answer(&stage.question(), "skip_feature").status.success());
    let (status, _, said) = exec.read_to_end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert_eq!(stage.wrote("tries"), "try\n");
    // The next time is another time.
    std::fs::write(stage.path("login"), "").unwrap();
    assert_eq!(stage.run_exec(&["--name", "job"], NEEDS_LOGIN).status.code(), Some(0));
}

#[test]
fn an_answer_is_waited_for_no_longer_than_said() {
    let stage = Project::new();
    stage.run_exec(&["--max-wait", "1s"], NEEDS_LOGIN).exits(3);
}

#[test]
fn a_program_that_is_not_there_is_asked_about() {
    let stage = Project::new();
    let exec = ["exec", "--name", "job", "--max-wait", "0", "--", "no-such-program"];
    let ran = stage.unstuck(&exec).output().unwrap().exits(3);
    let runs = stage.runs("job");
    let code = runs[0].fault.as_ref().unwrap().code();
    assert_eq!((runs.len(), code), (1, Code::ToolMissing), "{}", ran.err());
}

#[test]
fn the_status_of_the_command_itself_can_be_had() {
    let stage = Project::new();
    let options = ["--passthrough", "--max-wait", "0"];
    let script = "echo 'fatal: Authentication failed' >&2; exit 42";
    assert_eq!(stage.run_exec(&options, script).status.code(), Some(42));
    assert_eq!(stage.run_exec(&options, "exit 0").status.code(), Some(0));
}
