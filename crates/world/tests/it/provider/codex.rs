//! Output of `codex app-server` in real runs, read again.

use std::fs;

use serde_json::Value;
use unstuck_core::attempt::ToolKind;
use unstuck_core::fault::Code::*;
use unstuck_core::time::{Span, Time};
use unstuck_world::agent::{Activity, AgentEnd, Denial, Usage};
use unstuck_world::provider::LineSplitter;
use unstuck_world::provider::codex_cli::{CodexAccess, CodexSession, CodexSessionParams};

use crate::provider::agents::{Says, testdata};

struct Read {
    session: CodexSession,
    activities: Vec<Activity>,
    /// The lines that it was told.
    told: Vec<Value>,
}

impl Read {
    /// The methods of our requests.
    fn asked(&self) -> Vec<&str> {
        self.told.iter().filter_map(|message| message["method"].as_str()).collect()
    }

    fn says(&self) -> Says {
        Says::of(self.session.reported_end())
    }
}

fn order() -> CodexSessionParams {
    CodexSessionParams {
        commands: None,
        asks_first: false,
        directory: "/repo".into(),
        prompt: "do it".to_owned(),
        thread: None,
        model: None,
        turns_max: None,
        access: CodexAccess::Workspace,
        allowed_commands: std::collections::BTreeSet::new(),
        zone: unstuck_world::notify::TimeZone::UTC,
    }
}

fn read(order: CodexSessionParams, bytes: &[u8]) -> Read {
    let mut session = CodexSession::new(order);
    let (mut activities, mut told) = (Vec::new(), session.first_message());
    let mut lines = LineSplitter::default();
    lines.push(bytes, |line| session.handle_line(line, &mut activities, &mut told));
    lines.finish(|line| session.handle_line(line, &mut activities, &mut told));
    let told = told.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let told = told.map(|line| serde_json::from_slice(line).unwrap()).collect();
    Read { session, activities, told }
}

fn capture(order: CodexSessionParams, name: &str) -> Read {
    read(order, &fs::read(testdata(&format!("codex/{name}.jsonl"))).unwrap())
}

// T4.20, TX13: a turn is judged by the fields of its end.
#[test]
fn every_capture_ends_as_it_really_did() {
    let cases: &[(&str, Says)] = &[
        // It would wait for a network for ever; the first failure is the end.
        ("connrefused", Says::Failed(ProviderApiError)),
        ("cut", Says::Failed(ProviderApiError)),
        ("e400_ctx", Says::Failed(ProviderContextTooLong)),
        ("e401", Says::Failed(AuthInvalid)),
        ("e404", Says::Failed(ProviderNotAvailable)),
        ("e429", Says::Failed(ProviderRateLimit)),
        ("e429_quota", Says::Failed(ProviderQuota)),
        ("e429_usage", Says::Failed(ProviderUsageLimit)),
        ("e500", Says::Failed(ProviderApiError)),
        ("e503", Says::Failed(ProviderOverloaded)),
        ("e503_plain", Says::Failed(ProviderApiError)),
        ("incomplete_max", Says::Failed(ProviderOutputLimit)),
        ("ok_text", Says::Done),
        ("resume", Says::Done),
        // Without a conversation to go on with, nothing else can be begun.
        ("resume_missing", Says::Failed(ProviderNotAvailable)),
        ("sse_ctx", Says::Failed(ProviderContextTooLong)),
        ("tool", Says::Done),
        ("write", Says::Done),
    ];
    let wrong: Vec<_> = cases
        .iter()
        .map(|(name, expected)| (name, capture(order(), name).says(), expected))
        .filter(|(_, found, expected)| found != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let captures = fs::read_dir(testdata("codex")).unwrap().count();
    assert_eq!(captures, cases.len(), "a capture has no row");
}

// T4.9, B41: it keeps to the wait that the service asks for and does not say how long it is.
#[test]
fn how_long_it_waited_is_what_the_service_asked_for() {
    let read = capture(order(), "e429");
    let Some(AgentEnd::Failed(fault)) = read.session.reported_end() else { panic!("it failed") };
    let waited = fault.retry_after.map(Span::as_millis).unwrap();
    assert!((2_000..2_100).contains(&waited), "{waited}");
}

// T4.9, B41: its log says how long it is going to wait, before or after its error does.
#[test]
fn the_wait_that_its_log_names_is_not_waited_for_here() {
    let all = fs::read(testdata("codex/e429.jsonl")).unwrap();
    let lines: Vec<&[u8]> = all.split_inclusive(|byte| *byte == b'\n').collect();
    let is_error = |line: &&[u8]| String::from_utf8_lossy(line).contains(r#""willRetry":true"#);
    let error = lines.iter().position(is_error).unwrap();
    for logged_at in [error, error + 1] {
        for (delay, asked) in [("86399.99s", Some(86_400_000)), ("203.1ms", None)] {
            let (mut session, mut told) = (CodexSession::new(order()), Vec::new());
            let turn = "turn_id=01a1dca1-62dc-77f0-968f-63441d1def92";
            let log = format!("WARN retrying sampling request (1/1 in {delay})... {turn}");
            for (number, line) in lines[..=error + 1].iter().enumerate() {
                if number == logged_at {
                    // That of a subagent is none of ours.
                    let other = b"WARN retrying sampling request (1/1 in 9s)... turn_id=another";
                    session.handle_log_line(other);
                    session.handle_log_line(log.as_bytes());
                }
                if number <= error {
                    session.handle_line(line, &mut Vec::new(), &mut told);
                }
            }
            let found = match session.reported_end() {
                Some(AgentEnd::Failed(fault)) => fault.retry_after.map(Span::as_millis),
                _ => None,
            };
            assert_eq!(found, asked, "{delay}");
        }
    }
}

// T4.9, B41: the same wait is kept for every failure, and an overload is told from other errors.
#[test]
fn the_wait_that_its_log_names_is_kept_for_every_failure() {
    let all = fs::read_to_string(testdata("codex/e500.jsonl")).unwrap();
    let lines: Vec<&str> = all.lines().collect();
    let error = lines.iter().position(|line| line.contains(r#""willRetry":true"#)).unwrap();
    let mut announced: Value = serde_json::from_str(lines[error]).unwrap();
    let turn = announced["params"]["turnId"].as_str().unwrap().to_owned();
    let cases = [
        ("We are currently experiencing high demand.", None, ProviderApiError),
        ("unexpected status 502 Bad Gateway", Some(502), ProviderApiError),
        ("Selected model is at capacity. Please try a different model.", None, ProviderOverloaded),
        ("unexpected status 529 <unknown status code>", Some(529), ProviderOverloaded),
        ("rate limit exceeded: Slow down.", None, ProviderRateLimit),
    ];
    for (details, status, code) in cases {
        let said = &mut announced["params"]["error"];
        said["additionalDetails"] = details.into();
        said["codexErrorInfo"]["responseStreamDisconnected"]["httpStatusCode"] = status.into();
        let failed = announced.to_string();
        for (delay, asked) in [("4.997538983s", Some(5_000)), ("203.1ms", None)] {
            let log = format!("WARN retrying sampling request (1/1 in {delay})... turn_id={turn}");
            for logged_first in [true, false] {
                let (mut session, mut told) = (CodexSession::new(order()), Vec::new());
                for line in &lines[..error] {
                    session.handle_line(line.as_bytes(), &mut Vec::new(), &mut told);
                }
                if logged_first {
                    session.handle_log_line(log.as_bytes());
                }
                session.handle_line(failed.as_bytes(), &mut Vec::new(), &mut told);
                if !logged_first {
                    session.handle_log_line(log.as_bytes());
                }
                let found = match session.reported_end() {
                    Some(AgentEnd::Failed(fault)) => {
                        Some((fault.code(), fault.retry_after.map(Span::as_millis)))
                    }
                    _ => None,
                };
                // It waits its own delay before it repeats a limited request.
                let waits = code == ProviderRateLimit && asked.is_none();
                assert_eq!(found, (!waits).then_some((code, asked)), "{details}, {delay}");
            }
        }
    }
}

// B41
#[test]
fn when_a_window_opens_is_read_from_its_words() {
    let read = capture(order(), "e429_usage");
    let Some(AgentEnd::Failed(fault)) = read.session.reported_end() else { panic!("it failed") };
    // 2026-11-15 01:35 UTC, an hour after it was written.
    assert_eq!(fault.resets_at.map(Time::as_millis), Some(1_794_706_500_000));
}

#[test]
fn what_it_does_is_told_as_it_does_it() {
    insta::assert_json_snapshot!("codex_tool", capture(order(), "tool").activities);
    insta::assert_json_snapshot!("codex_write", capture(order(), "write").activities);
}

#[test]
fn it_is_told_one_thing_after_the_other() {
    let mut read = capture(order(), "tool");
    assert_eq!(read.asked(), ["initialize", "initialized", "thread/start", "turn/start"]);
    read.told[0]["params"]["clientInfo"]["version"] = "[version]".into();
    insta::assert_json_snapshot!("codex_told", read.told);
}

// T4.18: what it asks for is declined, and said at the end.
#[test]
fn a_command_that_a_person_allowed_is_accepted_and_no_other() {
    let asks = |command: &str| {
        format!(
            "{{\"id\":7,\"method\":\"item/commandExecution/requestApproval\",\"params\":{{\"command\":\"{command}\"}}}}\n"
        )
    };
    let order =
        CodexSessionParams { allowed_commands: ["npm install".to_owned()].into(), ..order() };
    for (command, decision) in [("npm install", "accept"), ("npm install x", "decline")] {
        let read = read(order.clone(), asks(command).as_bytes());
        assert_eq!(read.told.last().unwrap()["result"]["decision"], decision, "{command}");
    }
}

// T4.18
#[test]
fn approvals_are_declined_and_reported() {
    let read = capture(order(), "write");
    let Some(AgentEnd::Finished { denials, said }) = read.session.reported_end() else {
        panic!("it finished")
    };
    let what = "/repo/hello.txt".to_owned();
    assert_eq!(*denials, [Denial { tool: ToolKind::Edit, what }]);
    assert_eq!(said, "Finished after 2 tool results.");
    let answer = read.told.last().unwrap();
    assert_eq!(answer["result"]["decision"], "decline");
    assert_eq!(answer["id"], 0);
}

#[test]
fn an_unknown_request_is_answered() {
    let line = br#"{"method":"item/tool/invented","id":"x-1","params":{}}"#;
    let read = read(order(), line);
    let answer = read.told.last().unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&"x-1".into(), &(-32_601).into()));
}

#[test]
fn what_the_conversation_used_before_is_not_counted_again() {
    let thread = Some("01a1de70-51ca-7363-9592-74f4e7d570c3".to_owned());
    let read = capture(CodexSessionParams { thread, ..order() }, "resume");
    assert_eq!(read.asked(), ["initialize", "initialized", "thread/resume", "turn/start"]);
    let once = Usage { input_tokens: 90, cached_tokens: 10, output_tokens: 20, ..Usage::default() };
    assert_eq!(read.session.usage(), once);
    let reports: Vec<_> =
        read.activities.iter().filter(|told| matches!(told, Activity::Used { .. })).collect();
    assert_eq!(reports, [&Activity::Used { usage: once }]);
}

#[test]
fn an_unknown_conversation_is_begun_anew_once() {
    let thread = Some("11111111-1111-4111-8111-111111111111".to_owned());
    let again = capture(CodexSessionParams { thread, ..order() }, "resume_missing");
    assert_eq!(again.asked(), ["initialize", "initialized", "thread/resume", "thread/start"]);
    assert_eq!(again.says(), Says::Nothing);
}

#[test]
fn it_ends_when_it_took_all_its_turns() {
    let limited =
        |turns_max| capture(CodexSessionParams { turns_max: Some(turns_max), ..order() }, "tool");
    assert_eq!(limited(1).says(), Says::Failed(LogicLimit));
    assert_eq!(limited(2).says(), Says::Done);
}

// T4.33: an end of an unknown shape is never a success. B3: and no prose is looked at.
#[test]
fn a_turn_of_an_unknown_shape_is_a_crash() {
    let begun = r#"{"id":2,"result":{"thread":{"id":"t"}}}
{"id":3,"result":{"turn":{"id":"u"}}}
{"method":"item/completed","params":{"threadId":"t","item":{"type":"agentMessage","id":"m","text":"429 rate limit 401"}}}
"#;
    let end = |end: &str| read(order(), format!("{begun}{end}\n").as_bytes()).says();
    let turn = |turn: &str| {
        format!(r#"{{"method":"turn/completed","params":{{"threadId":"t","turn":{turn}}}}}"#)
    };
    assert_eq!(end(&turn(r#"{"id":"u","status":"completed"}"#)), Says::Done);
    let crashes = [
        r#"{"id":"u"}"#,
        r#"{"id":"u","status":"interrupted"}"#,
        r#"{"id":"u","status":"failed"}"#,
        r#"{"id":"u","status":"splendid"}"#,
        r#"{"id":"u","status":"failed","error":{"message":"rate limit 429"}}"#,
        r#"{"id":"u","status":"completed","error":{"message":"timeout"}}"#,
    ];
    for crash in crashes {
        assert_eq!(end(&turn(crash)), Says::Failed(ProviderCrash), "{crash}");
    }
    // Not ours, or not understood: nothing is said.
    for nothing in [r#"{"id":"v","status":"completed"}"#, r#"{"id":"u","status":1}"#, "7"] {
        assert_eq!(end(&turn(nothing)), Says::Nothing, "{nothing}");
    }
    let other = r#"{"method":"turn/completed","params":{"threadId":"sub","turn":{"id":"u","status":"completed"}}}"#;
    assert_eq!(end(other), Says::Nothing);
}
