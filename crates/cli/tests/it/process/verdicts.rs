//! Which fault an end is.

use std::time::Duration;

use unstuck_core::fault::{ClassifiedBy, Code, Fault, Kind};
use unstuck_world::process::{Launch, ProcessDeadlines, derive_fault};

use super::launches::{Stage, run, runtime, start};

fn judge(launch: Launch) -> Option<Fault> {
    derive_fault(&run(launch), "script#1", "the script")
}

#[test]
fn each_end_has_its_code() {
    let stage = Stage::new();
    let code = |launch: Launch| judge(launch).map(|fault| fault.code());
    assert_eq!(code(stage.script("echo error: everything is wrong")), None);
    assert_eq!(code(stage.script("exit 1")), Some(Code::LogicError));
    assert_eq!(code(stage.script("kill -11 $$")), Some(Code::ToolCrash));
    assert_eq!(code(stage.program("no-such-program")), Some(Code::ToolMissing));
    assert_eq!(code(stage.program("/etc/passwd")), Some(Code::ToolAccessDenied));
    let refused =
        stage.script("echo 'curl: (7) Failed to connect: Connection refused' >&2; exit 7");
    assert_eq!(code(refused), Some(Code::EnvConnection));
    let mut missing = stage.script("no-such-command-anywhere");
    // A shell says "permission denied" about it where it may not look into a directory.
    missing.environment = vec![("PATH".into(), Some("/usr/bin:/bin".into()))];
    assert_eq!(code(missing), Some(Code::ToolMissing));
    let mut slow = stage.script("sleep 1000");
    slow.deadlines =
        ProcessDeadlines { idle: Some(Duration::from_millis(20)), ..ProcessDeadlines::default() };
    assert_eq!(code(slow), Some(Code::OperationTimeout));
    let mut nowhere = stage.script("true");
    nowhere.directory = stage.path("nowhere");
    assert_eq!(code(nowhere), Some(Code::PreconditionMissing));
}

#[test]
fn what_was_asked_to_stop_is_no_fault() {
    let stage = Stage::new();
    let runtime = runtime();
    let process = start(&runtime, stage.script("sleep 1000"));
    process.stopper().stop();
    let ended = runtime.block_on(process.wait());
    assert_eq!(derive_fault(&ended, "script", "the script"), None);
}

#[test]
fn a_fault_says_by_which_rule_and_with_which_facts() {
    let stage = Stage::new();
    let fault = judge(stage.script("echo 'No space left on device'; exit 28")).unwrap();
    assert!(matches!(fault.classified_by, ClassifiedBy::Rule(_)));
    let Kind::EnvDiskFull(tool) = &fault.kind else { panic!("{fault}") };
    assert_eq!((tool.exit, tool.command.as_deref()), (Some(28), Some("the script")));
    assert_eq!(fault.message, "No space left on device");
}

#[test]
fn silent_failures_are_told_apart_by_status_and_place_and_nothing_else() {
    let stage = Stage::new();
    let signature = |script: &str, source: &str| {
        derive_fault(&stage.run(script), source, "the script").unwrap().signature
    };
    assert_eq!(signature("exit 1", "a"), signature("true; exit 1", "a#2"));
    assert_ne!(signature("exit 1", "a"), signature("exit 2", "a"));
    assert_ne!(signature("exit 1", "a"), signature("exit 1", "b"));
    // What is said counts then, and not the status.
    let said = "echo 'error: no such table: users';";
    assert_eq!(
        signature(&format!("{said} exit 1"), "a"),
        signature(&format!("{said} exit 2"), "a")
    );
}
