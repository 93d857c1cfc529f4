//! `unstuck fail`: a script says what it fails of, and is believed.

use unstuck_core::engine::Event;
use unstuck_core::fault::Code;

use crate::program::{OutputText as _, unstuck};
use crate::project::Project;

#[test]
fn it_ends_with_a_status_that_fits_wherever_it_is_called() {
    for (code, status) in [
        ("AUTH_EXPIRED", 77),
        ("permission-command-blocked", 77),
        ("NETWORK_UNAVAILABLE", 75),
        ("config_invalid", 78),
        ("OPERATION_TIMEOUT", 124),
        ("LOGIC_ERROR", 1),
    ] {
        let ran = unstuck(&["fail", "--code", code, "--message", "so it is"]);
        assert_eq!((ran.exit, ran.stdout.as_str()), (status, ""), "{code}");
        let code = code.to_uppercase().replace('-', "_");
        assert_eq!(ran.stderr, format!("unstuck: {code}: so it is\n"));
    }
}

#[test]
fn a_code_that_is_none_and_one_of_ours_are_refused() {
    let wrong = unstuck(&["fail", "--code", "AUTH_EXPIERD"]);
    assert_eq!(wrong.exit, 2);
    assert!(wrong.stderr.contains("did you mean AUTH_EXPIRED?"), "{}", wrong.stderr);
    insta::assert_snapshot!(unstuck(&["fail", "--code", "INTERNAL_STORE"]));
}

// T3.1, T3.15, B18: the run pauses for a person, once, with everything a person has to know.
#[test]
fn a_login_that_a_script_misses_is_asked_for_and_it_goes_on() {
    let stage = Project::new();
    let script = "[ -f login ] || exec unstuck fail --code AUTH_EXPIRED --message 'the shop \
                  logged us out'; echo in >>done";
    let options = ["--name", "sync", "--max-wait", "0"];
    stage.run_exec(&options, script).exits(3);
    let runs = stage.runs("sync");
    let fault = runs[0].fault.as_ref().unwrap();
    assert_eq!(
        (fault.code(), fault.message.as_str()),
        (Code::AuthExpired, "the shop logged us out")
    );
    assert_eq!(fault.source, "script");
    assert_eq!(serde_json::to_value(runs[0].status).unwrap(), "paused:approval");
    let question = stage.question();
    assert_eq!(question.code, Some(Code::AuthExpired));
    std::fs::write(stage.path("login"), "").unwrap();
    assert!(stage.answer(&question, "provide_credentials").status.success());
    assert_eq!(stage.run_exec(&options, script).status.code(), Some(0));
    assert_eq!(stage.wrote("done"), "in\n");
    assert_eq!(stage.runs("sync").len(), 1, "a paused run goes on under its own id");
}

// T3.2, T3.14
#[test]
fn what_passes_is_waited_out_for_as_long_as_the_script_says() {
    let stage = Project::new();
    let script = "echo $UNSTUCK_RETRY >>tries; [ -f up ] && exit 0; touch up; \
                  unstuck fail --code TOOL_RATE_LIMIT --retry-after 1s; exit 9";
    stage.run_exec(&["--name", "sync"], script).exits(0);
    assert_eq!(stage.wrote("tries"), "0\n1\n");
    let runs = stage.runs("sync");
    assert_eq!(runs[1].retry_of, Some(runs[0].id));
    let fault = runs[0].fault.as_ref().unwrap();
    assert_eq!(fault.retry_after, Some(unstuck_core::time::Span::from_secs(1)));
    assert_eq!(serde_json::to_value(runs[0].status).unwrap(), "paused:transient");
}

// T3.6, T3.3: the type decides, whatever else the script wrote.
#[test]
fn the_code_that_a_script_states_beats_what_it_wrote() {
    for (code, status) in [
        ("PERMISSION_COMMAND_BLOCKED", "paused:approval"),
        ("TOOL_ACCESS_DENIED", "paused:approval"),
        ("LOGIC_BAD_INPUT", "failed:logic"),
        ("LOGIC_PHASE_VIOLATION", "failed:logic"),
    ] {
        let stage = Project::new();
        let script = format!("echo 'curl: (7) connection refused' >&2; unstuck fail --code {code}");
        stage.run_exec(&["--name", "sync", "--max-wait", "0"], &script).exits(3);
        let run = &stage.runs("sync")[0];
        assert_eq!(run.fault.as_ref().unwrap().code().as_str(), code);
        let evidence = stage.question().evidence;
        assert!(evidence.command.is_some() && evidence.exit.is_some(), "{evidence:?}");
        assert!(evidence.output.contains("connection refused"), "{evidence:?}");
        assert_eq!(serde_json::to_value(run.status).unwrap(), status, "{code}");
    }
}

#[test]
fn a_script_that_succeeds_after_all_has_not_failed() {
    let stage = Project::new();
    stage.run_exec(&["--name", "sync"], "unstuck fail --code AUTH_EXPIRED; exit 0").exits(0);
}

// T3.4, T3.5, T3.16: what is wrong with us is told as such; the details are for operators.
#[test]
fn a_failure_of_ours_is_internal_and_says_so_without_details() {
    let stage = Project::new();
    let script = "rm -r .unstuck/runs; exec unstuck fail --code NETWORK_UNAVAILABLE";
    stage.run_exec(&["--name", "sync", "--max-wait", "0"], script).exits(3);
    let runs = stage.runs("sync");
    assert_eq!(serde_json::to_value(runs[1].status).unwrap(), "failed:internal");
    let fault = runs[1].fault.as_ref().unwrap();
    assert_eq!((fault.code(), fault.source.as_str()), (Code::InternalError, "process.start"));
    assert!(fault.message.contains("runs/t0-r1.lock cannot be used"), "{}", fault.message);
    assert!(fault.cause.as_ref().is_some_and(|cause| cause.contains("No such file")), "{fault:?}");
    let question = stage.question();
    let read = serde_json::to_string(&question.text).unwrap();
    assert!(read.contains("Internal error. Please contact support."), "{read}");
    assert!(!read.contains(".lock"), "{read}");
    assert!(question.operator_text.contains("t0-r1.lock"), "{}", question.operator_text);
}

// T1.5: jobs have nothing to do with each other, so open questions about some hold up no other.
#[test]
fn six_open_questions_hold_up_no_other_script() {
    let stage = Project::new();
    let codes = [
        "AUTH_EXPIRED", "AUTH_INVALID", "TOOL_ACCESS_DENIED", "PERMISSION_COMMAND_BLOCKED",
        "TOOL_QUOTA", "AUTH_MISSING",
    ];
    for code in codes {
        let script = format!("unstuck fail --code {code}");
        stage.run_exec(&["--name", code, "--max-wait", "0"], &script).exits(3);
    }
    assert_eq!(stage.questions().len(), codes.len());
    let paused = |event: &Event| matches!(event, Event::BuildPaused { .. });
    assert!(!stage.events().iter().any(|recorded| paused(&recorded.event)));
    let late = stage.run_exec(&["--name", "late", "--max-wait", "0"], "echo ran >>ran");
    assert_eq!((late.status.code(), stage.wrote("ran").as_str()), (Some(0), "ran\n"));
}

// TX16
#[test]
fn what_a_script_says_loses_its_secrets() {
    let stage = Project::new();
    let mut exec = stage.exec(
        &["--name", "sync", "--max-wait", "0"],
        "unstuck fail --code AUTH_EXPIRED --message \"no good: $SHOP_TOKEN\"",
    );
    let ran = exec.env("SHOP_TOKEN", "canary-4711-canary").output().unwrap();
    assert_eq!(ran.status.code(), Some(3));
    assert!(!ran.err().contains("canary-4711"), "{}", ran.err());
    let kept = std::fs::read(stage.database()).unwrap();
    assert!(!String::from_utf8_lossy(&kept).contains("canary-4711"));
}
