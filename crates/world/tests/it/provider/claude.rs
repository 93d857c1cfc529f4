//! What Claude Code wrote in real runs, read again.

use std::fs;

use unstuck_core::attempt::ToolKind;
use unstuck_core::fault::Code::*;
use unstuck_core::time::{Span, Time};
use unstuck_world::agent::{Activity, AgentEnd, Denial, Usage};
use unstuck_world::provider::LineSplitter;
use unstuck_world::provider::claude_cli::ClaudeStream;

use crate::provider::agents::{Says, testdata};

fn read(bytes: &[u8]) -> (ClaudeStream, Vec<Activity>) {
    let (mut stream, mut activities) = (ClaudeStream::default(), Vec::new());
    let mut lines = LineSplitter::default();
    lines.push(bytes, |line| stream.handle_line(line, &mut activities));
    lines.finish(|line| stream.handle_line(line, &mut activities));
    (stream, activities)
}

fn capture(name: &str) -> (ClaudeStream, Vec<Activity>) {
    read(&fs::read(testdata(&format!("claude/{name}.jsonl"))).unwrap())
}

fn says(stream: &ClaudeStream) -> Says {
    Says::of(stream.reported_end())
}

// T4.20, TX13: a result is judged by its fields; the exit status is not looked at. One that would
// try again by itself has failed: when that is done is decided for all tasks of the account.
#[test]
fn every_capture_ends_as_it_really_did() {
    let cases: &[(&str, Says)] = &[
        ("bare_ok", Says::Done),
        ("connrefused", Says::Failed(ProviderApiError)),
        ("connrefused_defaultretries", Says::Failed(ProviderApiError)),
        ("continue_none", Says::Done),
        ("cut", Says::Failed(ProviderApiError)),
        ("cut_once", Says::Done),
        ("dns_fail", Says::Failed(ProviderApiError)),
        ("e400_credit", Says::Failed(ProviderQuota)),
        ("e400_ctx", Says::Failed(ProviderContextTooLong)),
        ("e400_other", Says::Failed(ProviderRejected)),
        ("e401", Says::Failed(AuthInvalid)),
        ("e403", Says::Failed(AuthInvalid)),
        ("e404", Says::Failed(ProviderNotAvailable)),
        ("e429", Says::Failed(ProviderRateLimit)),
        ("e429_defaultretries", Says::Failed(ProviderRateLimit)),
        ("e429_long", Says::Failed(ProviderRateLimit)),
        ("e429_once", Says::Failed(ProviderRateLimit)),
        ("e429_unified", Says::Failed(ProviderRateLimit)),
        ("e429_watchdog", Says::Failed(ProviderRateLimit)),
        ("e500", Says::Failed(ProviderApiError)),
        ("e500_defaultretries", Says::Failed(ProviderApiError)),
        ("e500_once", Says::Failed(ProviderApiError)),
        ("e503", Says::Failed(ProviderApiError)),
        ("e529", Says::Failed(ProviderOverloaded)),
        ("e529_defaultretries", Says::Failed(ProviderOverloaded)),
        ("e529_once", Says::Failed(ProviderOverloaded)),
        ("empty200", Says::Failed(ProviderApiError)),
        ("fallback_e529", Says::Failed(ProviderOverloaded)),
        ("hang", Says::Failed(ProviderApiError)),
        ("hang_after_start", Says::Nothing),
        ("hang_after_start_bytewatchdog", Says::Nothing),
        ("hang_api_timeout_noretry", Says::Failed(ProviderApiError)),
        ("hang_defaultretries", Says::Nothing),
        ("json_schema", Says::Done),
        ("json_schema_never", Says::Done),
        ("malformed", Says::Failed(ProviderApiError)),
        ("max_budget", Says::Failed(BudgetExhausted)),
        ("max_tokens", Says::Failed(ProviderOutputLimit)),
        ("max_turns", Says::Failed(LogicLimit)),
        ("model_flag_e404", Says::Failed(ProviderNotAvailable)),
        ("no_api_key", Says::Failed(AuthMissing)),
        ("nofallback_cut", Says::Failed(ProviderApiError)),
        ("ok_text", Says::Done),
        ("ok_tool", Says::Done),
        ("output_json_e401", Says::Failed(AuthInvalid)),
        ("output_json_ok", Says::Done),
        ("partial_messages", Says::Done),
        ("perm_denied_bash", Says::Done),
        ("perm_denied_dontask", Says::Done),
        ("perm_denied_write", Says::Done),
        ("perm_disallowed_tool", Says::Done),
        ("refusal", Says::Failed(ProviderRefused)),
        ("resume_1", Says::Done),
        ("resume_2", Says::Done),
        ("resume_3_continue", Says::Done),
        ("resume_5_fork", Says::Done),
        ("resume_after_sigkill", Says::Done),
        // Where no conversation was to go on, it is a run that came to nothing.
        ("resume_missing", Says::Failed(ProviderCrash)),
        ("retries0_e529", Says::Failed(ProviderOverloaded)),
        ("sigint_in_tool", Says::Nothing),
        ("sigint_in_tool_rep2", Says::Failed(ProviderCrash)),
        ("sigkill_in_tool", Says::Nothing),
        ("sigkill_longtool", Says::Nothing),
        ("sigterm_in_api", Says::Nothing),
        ("sigterm_in_tool", Says::Nothing),
        ("sigterm_longtool", Says::Nothing),
        ("skip_perms_root_sandbox", Says::Done),
        ("sse_api_error", Says::Failed(ProviderApiError)),
        ("sse_overloaded", Says::Failed(ProviderOverloaded)),
        ("sse_overloaded_once", Says::Done),
        ("stdin_prompt", Says::Done),
    ];
    let wrong: Vec<_> = cases
        .iter()
        .map(|(name, expected)| (name, says(&capture(name).0), expected))
        .filter(|(_, found, expected)| found != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let captures = fs::read_dir(testdata("claude")).unwrap().count();
    assert_eq!(captures, cases.len(), "a capture has no row");
}

#[test]
fn what_it_does_is_told_as_it_does_it() {
    insta::assert_json_snapshot!("claude_ok_tool", capture("ok_tool").1);
    insta::assert_json_snapshot!("claude_partial_messages", capture("partial_messages").1);
}

// T4.18: what it was not allowed to do is reported, and is no failure by itself.
#[test]
fn denials_are_reported() {
    let denials = |name| match capture(name).0.reported_end() {
        Some(AgentEnd::Finished { denials, .. }) => denials.clone(),
        other => panic!("{other:?}"),
    };
    let command = "touch bash_was_here; curl -s http://127.0.0.1:9/".to_owned();
    assert_eq!(denials("perm_denied_bash"), [Denial { tool: ToolKind::Command, what: command }]);
    let file = "/repo/hello.txt".to_owned();
    assert_eq!(denials("perm_denied_write"), [Denial { tool: ToolKind::Write, what: file }]);
    assert_eq!(denials("perm_disallowed_tool"), []);
}

#[test]
fn what_was_used_is_what_all_models_used() {
    let (stream, activities) = capture("max_budget");
    let expected = Usage {
        input_tokens: 200,
        output_tokens: 40,
        money_micros: Some(2_000),
        ..Usage::default()
    };
    assert_eq!(stream.convert_tokens(), expected);
    let reported: u64 = activities
        .iter()
        .map(|activity| match activity {
            Activity::Used { usage } => usage.total_tokens(),
            _ => 0,
        })
        .sum();
    assert_eq!(reported, expected.total_tokens());
    // Without a result, what the messages said is what is known.
    let (cut, _) = capture("sigkill_in_tool");
    assert!(cut.convert_tokens().input_tokens > 0 && cut.convert_tokens().money_micros.is_none());
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s"}"#;

fn lines(lines: &[&str]) -> ClaudeStream {
    read([&[INIT], lines].concat().join("\n").as_bytes()).0
}

// T4.33: a shape that is not known is never a success.
#[test]
fn a_result_of_an_unknown_shape_is_a_crash() {
    let cases = [
        r#"{"type":"result","subtype":"success"}"#,
        r#"{"type":"result","subtype":"success","is_error":null,"result":"ok"}"#,
        r#"{"type":"result","is_error":false,"result":"ok"}"#,
        r#"{"type":"result","subtype":"great_success","is_error":false,"result":"ok"}"#,
        r#"{"type":"result","subtype":"success","is_error":true}"#,
        r#"{"type":"result","subtype":"error_of_tomorrow","is_error":true}"#,
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0}"#,
    ];
    for case in cases {
        assert_eq!(says(&lines(&[case])), Says::Failed(ProviderCrash), "{case}");
    }
    let no_results = [
        r#"{"type":"result","subtype":"success","is_error":"no"}"#,
        r#"{"type":"result","subtype":"success","is_error":false"#,
        r#"{"type":"outcome","subtype":"success","is_error":false}"#,
        r#"[{"type":"result","subtype":"success","is_error":false}]"#,
        "success",
        "\u{0}",
    ];
    for case in no_results {
        assert_eq!(says(&lines(&[case])), Says::Nothing, "{case}");
    }
    let unheard = r#"{"type":"assistant","error":"error_of_tomorrow","message":{}}"#;
    let failed = r#"{"type":"result","subtype":"success","is_error":true}"#;
    assert_eq!(says(&lines(&[unheard, failed])), Says::Failed(ProviderCrash));
}

// B3: prose decides nothing.
#[test]
fn what_it_says_about_a_rate_limit_means_nothing() {
    let said = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"429 rate limit, 401 Unauthorized, timeout"}]}}"#;
    let done = r#"{"type":"result","subtype":"success","is_error":false,"result":"API Error: 529 Overloaded"}"#;
    assert_eq!(says(&lines(&[said, done])), Says::Done);
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":500,"result":"Invalid API key (401)"}"#;
    assert_eq!(says(&lines(&[said, failed])), Says::Failed(ProviderApiError));
}

// T4.9, B41: what it would wait beyond its own patience is what the service asked for. Where it gives up
// at a limit although it may try again, the service asked for more than a minute.
#[test]
fn the_wait_that_the_service_asked_for_is_taken() {
    let waits = |name: &str| match capture(name).0.reported_end() {
        Some(AgentEnd::Failed(fault)) => fault.retry_after.map(Span::as_millis),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(waits("e429"), Some(2_000));
    assert_eq!(waits("e429_long"), Some(60_000));
    assert_eq!(waits("e429_unified"), Some(60_000));
    for own in ["e529", "e500", "connrefused", "e401", "e400_credit"] {
        assert_eq!(waits(own), None, "{own}");
    }
}

#[test]
fn a_window_that_is_told_after_the_wish_to_try_again_counts() {
    let retry = r#"{"type":"system","subtype":"api_retry","error_status":429,"error":"rate_limit","retry_delay_ms":500.0}"#;
    let window = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":1800000000}}"#;
    assert_eq!(says(&lines(&[retry])), Says::Failed(ProviderRateLimit));
    assert_eq!(says(&lines(&[retry, window])), Says::Failed(ProviderUsageLimit));
    assert_eq!(says(&lines(&[window, retry])), Says::Failed(ProviderUsageLimit));
}

#[test]
fn an_end_in_the_words_of_the_program_itself_is_no_success() {
    let error = r#"{"type":"assistant","error":"rate_limit","message":{}}"#;
    let done = r#"{"type":"result","subtype":"success","is_error":false,"result":"limit reached"}"#;
    assert_eq!(says(&lines(&[error, done])), Says::Failed(ProviderRateLimit));
    let answer = r#"{"type":"assistant","message":{"id":"m","content":[]}}"#;
    assert_eq!(says(&lines(&[error, answer, done])), Says::Done);
}

#[test]
fn a_used_up_window_says_when_it_opens() {
    let event = |status: &str| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1794740000,"rateLimitType":"five_hour"}}}}"#
        )
    };
    let error = r#"{"type":"assistant","error":"rate_limit","message":{}}"#;
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429}"#;
    let rejected = lines(&[&event("rejected"), error, failed]);
    assert_eq!(says(&rejected), Says::Failed(ProviderUsageLimit));
    let Some(AgentEnd::Failed(fault)) = rejected.reported_end() else { panic!("it failed") };
    assert_eq!(fault.resets_at.map(Time::as_millis), Some(1_794_740_000_000));
    let allowed = lines(&[&event("allowed_warning"), error, failed]);
    assert_eq!(says(&allowed), Says::Failed(ProviderRateLimit));
}
