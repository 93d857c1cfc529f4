//! Agent programs as a person meets them: scripts that write what Claude Code writes.

use std::process::Command;

use unstuck_core::engine::Event;
use unstuck_core::fault::Code;
use unstuck_testkit::stage::write_program;

use crate::program::{Ran, ran};
use crate::project::Project;

/// The first line that it writes.
const INIT: &str =
    r#"{"type":"system","subtype":"init","session_id":"11111111-1111-4111-8111-111111111111"}"#;
/// The line that it writes when all is done.
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Done."}"#;

/// The program with a Claude Code that is this script.
fn unstuck(stage: &Project, script: &str, args: &[&str]) -> Command {
    let program = stage.path(".git/claude");
    write_program(&program, &format!("cat >/dev/null\n{script}"));
    let mut unstuck = stage.unstuck(args);
    unstuck
        .env("UNSTUCK_AGENT_PROVIDER", "claude-cli")
        .env("UNSTUCK_AGENT_PROGRAM", program)
        .env("ANTHROPIC_API_KEY", "sk-canary-0123456789");
    unstuck
}

fn says(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| ["echo '", line, "'\n"]).collect()
}

fn run(mut unstuck: Command) -> Ran {
    ran(unstuck.output().unwrap())
}

// T4.9, TX11, B40: a session that starts is no success; the waits grow, and the wait budget is reached.
#[test]
fn an_account_that_is_limited_for_ever_is_asked_less_and_less_until_a_person_is() {
    let stage = Project::with_agents();
    let limited = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":550.5,"error_status":429,"error":"rate_limit"}"#;
    let script = format!("{}exec sleep 1000", says(&[INIT, limited]));
    let mut unstuck = unstuck(&stage, &script, &["run", "write a", "--max-wait", "5s"]);
    unstuck
        .env("UNSTUCK_BACKOFF_BASE", "100ms")
        .env("UNSTUCK_BACKOFF_CAP", "1m")
        .env("UNSTUCK_WAIT_LIMITED", "2s");
    let ran = run(unstuck).exits(3);
    let questions = stage.questions();
    assert_eq!(questions.len(), 1, "{ran}");
    let waits = stage.count(|event| matches!(event, Event::GateWaiting { .. }));
    assert!((2..=8).contains(&waits), "{waits} waits: {ran}");
}

// T4.9, B41: the time that the service names is kept to.
#[test]
fn a_program_that_says_when_to_come_back_is_taken_at_its_word() {
    let stage = Project::with_agents();
    let limited = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":30000,"error_status":429,"error":"rate_limit"}"#;
    let script = format!("{}exec sleep 1000", says(&[INIT, limited]));
    let ran = run(unstuck(&stage, &script, &["run", "write a", "--max-wait", "1s"])).exits(75);
    let waits: Vec<u64> = stage
        .events()
        .iter()
        .filter_map(|recorded| match recorded.event {
            Event::GateWaiting { until, code: Code::ProviderRateLimit, .. } => {
                Some(until.since(recorded.at).as_millis() / 1_000)
            }
            _ => None,
        })
        .collect();
    assert!(matches!(waits[..], [30..=33]), "{waits:?}: {ran}");
}

// B42: no money is nothing to wait for.
#[test]
fn an_account_without_credit_asks_at_once() {
    let stage = Project::with_agents();
    let lines = [
        INIT,
        r#"{"type":"assistant","error":"billing_error","message":{"id":"m","content":[]}}"#,
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"Credit balance is too low"}"#,
    ];
    run(unstuck(&stage, &says(&lines), &["run", "write a", "--max-wait", "1s"])).exits(3);
    assert_eq!(stage.count(|event| matches!(event, Event::GateWaiting { .. })), 0);
    assert_eq!(stage.questions()[0].code, Some(Code::ProviderQuota));
}

// B43: what an agent does after its task is done does not throw its work away.
#[test]
fn an_agent_that_repeats_that_it_is_done_is_done() {
    let stage = Project::with_agents();
    let done = |n: u32| {
        let called = format!(
            r#"{{"type":"assistant","message":{{"id":"m{n}","usage":{{"input_tokens":5,"output_tokens":5}},"content":[{{"type":"tool_use","id":"c{n}","name":"mcp__unstuck__task_done","input":{{"summary":"It is written."}}}}]}}}}"#
        );
        let returned = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"c{n}","content":"noted."}}]}}}}"#
        );
        says(&[&called, &returned])
    };
    let again: String = (0..20).map(done).collect();
    let write = "mkdir -p work; echo fine > work/a.txt";
    for end in ["exec sleep 1000", "kill -9 $$", "exit 1"] {
        let script = format!("{write}\n{}{again}{end}", says(&[INIT]));
        let ran = run(unstuck(&stage, &script, &["run", "write a"]));
        assert_eq!(ran.exit, 0, "{end}: {ran}");
        assert_eq!(stage.count(|event| matches!(event, Event::RunFailed { .. })), 0, "{end}");
    }
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
}

// B44: what a person works with, the agent works with; private variables stay out.
#[test]
fn an_agent_gets_the_environment_that_it_has_with_a_person() {
    let stage = Project::with_agents();
    let names = "ANTHROPIC_BASE_URL|ANTHROPIC_MODEL|OPENAI_ORG_ID|CLAUDE_CODE_EFFORT|CODEX_THING|HTTPS_PROXY|no_proxy|NODE_EXTRA_CA_CERTS|GITHUB_TOKEN|ANTHROPIC_AUTH_TOKEN";
    let script = format!(
        "mkdir -p work; env | grep -E '^({names})=' | sort > work/a.txt\n\
         test -n \"$ANTHROPIC_API_KEY\" && echo key >> work/a.txt\n{}",
        says(&[INIT, DONE])
    );
    let mut unstuck = unstuck(&stage, &script, &["run", "write a"]);
    unstuck
        .env("ANTHROPIC_BASE_URL", "https://gateway.example/claude")
        .env("ANTHROPIC_MODEL", "some-model")
        .env("OPENAI_ORG_ID", "org")
        .env("CLAUDE_CODE_EFFORT", "high")
        .env("CODEX_THING", "x")
        .env("HTTPS_PROXY", "http://proxy.example:3128")
        .env("no_proxy", "localhost")
        .env("NODE_EXTRA_CA_CERTS", "/etc/own.pem")
        // Else it goes out through our own proxy, which goes on to the person's.
        .env("UNSTUCK_AGENT_NETWORK", "open")
        .env("GITHUB_TOKEN", "not for it");
    run(unstuck).exits(0);
    let got = stage.on_branch("unstuck/b0", "work/a.txt");
    let expected = [
        "ANTHROPIC_BASE_URL=https://gateway.example/claude",
        "ANTHROPIC_MODEL=some-model",
        "CLAUDE_CODE_EFFORT=high",
        "CODEX_THING=x",
        "HTTPS_PROXY=http://proxy.example:3128",
        "NODE_EXTRA_CA_CERTS=/etc/own.pem",
        "OPENAI_ORG_ID=org",
        "key",
        "no_proxy=localhost",
    ];
    let mut lines: Vec<&str> = got.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, expected);
}

// B44: a project's own file may come from anybody: a vendor's key does not follow it.
#[test]
fn a_key_does_not_go_where_only_the_project_says() {
    let refused = |settings: &str, variables: &[(&str, &str)]| {
        let stage = Project::with_agents();
        stage.replace_setting("[agent]\n", &format!("[agent]\n{settings}\n"));
        stage.commit();
        let script = format!("mkdir -p work; echo fine > work/a.txt\n{}", says(&[INIT, DONE]));
        let mut unstuck = unstuck(&stage, &script, &["run", "write a"]);
        unstuck.envs(variables.iter().copied());
        let ran = run(unstuck);
        assert!(matches!(ran.exit, 0 | 78), "{settings}: {ran}");
        if ran.exit == 78 {
            assert!(ran.stderr.contains("would send the key in ANTHROPIC_API_KEY"), "{ran}");
            assert!(!stage.path(".unstuck/state.db").exists(), "nothing was started");
        }
        ran.exit == 78
    };
    let elsewhere = "base_url = \"https://gateway.example\"";
    let named = ("ANTHROPIC_BASE_URL", "https://gateway.example/claude");
    let other = ("ANTHROPIC_BASE_URL", "https://other.example");
    assert!(refused(elsewhere, &[]));
    assert!(refused(elsewhere, &[other]));
    assert!(refused("base_url = \"https://api.anthropic.com@gateway.example\"", &[]));
    assert!(!refused(elsewhere, &[named]), "the person names it as well");
    assert!(!refused("base_url = \"https://api.anthropic.com\"", &[]));
    assert!(!refused("base_url = \"http://127.0.0.1:9\"", &[]));
    let own = format!("{elsewhere}\nkey_env = \"GATEWAY_KEY\"");
    assert!(!refused(&own, &[("GATEWAY_KEY", "sk-0123456789")]), "that key is for it");
    assert!(!refused("", &[("UNSTUCK_AGENT_BASE_URL", "https://gateway.example")]));
}
