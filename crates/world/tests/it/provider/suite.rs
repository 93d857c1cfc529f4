//! Duties of every agent, whatever its program: one table of the answers of the service, and the
//! codes that come of them.
//!
//! It runs with the real programs, which are large and not ours: `./scripts/test --agents` gets
//! them and runs it. Otherwise these tests are reported as skipped.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{ActionOutcome, ToolKind};
use unstuck_core::fault::Code::{self, *};
use unstuck_testkit::stage::FifoReader;
use unstuck_world::agent::{ACTIVITIES_QUEUED_MAX, Activity, Agent, AgentEnd};
use unstuck_world::fake::server::{
    FakeAnswer, FakeFailure, FakeHttpError, FakeRetryAfter, FakeScript, FakeServer, FakeStopReason,
};
use unstuck_world::process::{EnforcementLevel, Wall};
use unstuck_world::provider::claude_cli::{ClaudeCli, ClaudePermissions, ShellRules};
use unstuck_world::provider::codex_cli::{CodexAccess, CodexCli, find_native_program};

use crate::provider::agents::{Stage, Which, code, work, work_until};

/// Longer than a program is quiet while it starts on a busy machine.
const IDLE: Duration = Duration::from_secs(20);

/// A real program: named by the environment, or put there by `scripts/agents`.
fn program(which: Which) -> PathBuf {
    let (variable, installed) = match which {
        Which::Claude => ("UNSTUCK_TEST_CLAUDE", ".bin/claude"),
        Which::Codex => ("UNSTUCK_TEST_CODEX", ".bin/codex"),
    };
    let installed = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../.tools/agents/node_modules")
        .join(installed);
    let found = std::env::var_os(variable).map_or(installed, PathBuf::from);
    let found = found.canonicalize().unwrap_or_else(|error| {
        panic!("{}: {error}; ./scripts/agents installs it", found.display())
    });
    find_native_program(&found)
}

/// The result of an answer: the codes of Claude Code and of Codex. None is the end of the work.
struct Case {
    name: &'static str,
    answer: FakeAnswer,
    claude: Option<Code>,
    codex: Option<Code>,
    /// The number of calls of Claude Code, where it does not leave it at one call.
    claude_calls: usize,
}

impl Case {
    const fn claude_calls(mut self, calls: usize) -> Self {
        self.claude_calls = calls;
        self
    }
}

const fn case(
    name: &'static str,
    answer: FakeAnswer,
    claude: Option<Code>,
    codex: Option<Code>,
) -> Case {
    Case { name, answer, claude, codex, claude_calls: 1 }
}

/// The same of both.
const fn both(name: &'static str, answer: FakeAnswer, code: Code) -> Case {
    case(name, answer, Some(code), Some(code))
}

fn cases() -> Vec<Case> {
    use FakeAnswer::{Error, Trouble as Fails};
    vec![
        case("text", FakeAnswer::with_text("Done."), None, None),
        both("401", Error(FakeHttpError::Unauthorized), AuthInvalid),
        both("403", Error(FakeHttpError::Forbidden), AuthInvalid),
        both("402", Error(FakeHttpError::PaymentRequired), ProviderQuota),
        both("no credit", Error(FakeHttpError::NoCredit), ProviderQuota),
        both("404", Error(FakeHttpError::NoSuchModel), ProviderNotAvailable).claude_calls(2),
        both("429", Error(FakeHttpError::RateLimit(FakeRetryAfter::Seconds(2))), ProviderRateLimit),
        both("500", Error(FakeHttpError::Internal), ProviderApiError),
        both("503", Error(FakeHttpError::Unavailable), ProviderApiError),
        both("overloaded", Error(FakeHttpError::Overloaded), ProviderOverloaded),
        both("context too long", Error(FakeHttpError::ContextTooLong), ProviderContextTooLong),
        both("413", Error(FakeHttpError::TooLarge), ProviderContextTooLong),
        both("400", Error(FakeHttpError::Invalid), ProviderRejected),
        both("418", Error(FakeHttpError::Unheard), ProviderRejected),
        both("502 with a page", Error(FakeHttpError::Page), ProviderApiError),
        both("hang before headers", Fails(FakeFailure::HangBeforeHeaders), IterationTimeout),
        both(
            "hang after the first event",
            Fails(FakeFailure::HangAfterFirstEvent),
            IterationTimeout,
        ),
        both("cut", Fails(FakeFailure::Cut), ProviderApiError),
        both("ends early", Fails(FakeFailure::EndsEarly), ProviderApiError),
        both("malformed", Fails(FakeFailure::Malformed), ProviderApiError),
        both("empty", Fails(FakeFailure::Empty), ProviderApiError),
        both("a page", Fails(FakeFailure::WrongContentType), ProviderApiError),
        both("overloaded mid-stream", Fails(FakeFailure::OverloadedMidStream), ProviderOverloaded)
            .claude_calls(3),
        both("refusal", FakeAnswer::with_stop(FakeStopReason::Refusal), ProviderRefused),
        // Claude Code first asks the model three times to go on.
        both(
            "output limit",
            FakeAnswer::with_stop(FakeStopReason::OutputLimit),
            ProviderOutputLimit,
        )
        .claude_calls(4),
    ]
}

async fn every_case(which: Which) {
    let mut wrong = Vec::new();
    for Case { name, answer, claude, codex, claude_calls } in cases() {
        let stage = Stage::new();
        let hangs = matches!(
            answer,
            FakeAnswer::Trouble(FakeFailure::HangBeforeHeaders | FakeFailure::HangAfterFirstEvent)
        );
        let server = FakeServer::start(answer).await.unwrap();
        let agent = stage.agent(which, &program(which), Some(server.url()));
        agent.check_ready().await.unwrap();
        let mut assignment = stage.assignment();
        if hangs {
            assignment.limits.idle = IDLE;
        }
        let (ended, _) = work(&*agent, assignment).await;
        let expected = match which {
            Which::Claude => (claude, claude_calls),
            Which::Codex => (codex, 1),
        };
        let calls = server.model_calls().len();
        // The first failure is the end: trying again is decided elsewhere.
        if (code(&ended.end), calls) != expected {
            wrong.push(format!("{name}: {calls} calls, {:?}", ended.end));
        }
    }
    assert!(wrong.is_empty(), "{which:?}:\n{}", wrong.join("\n"));
}

// B11, TX18, T4.20, T4.7-T4.10: the real program against a service that fails on demand.
#[tokio::test]
#[ignore = "needs the real Claude Code: ./scripts/test --agents"]
async fn claude_code_meets_every_answer() {
    every_case(Which::Claude).await;
}

// B11, TX18, T4.20, T4.7-T4.10
#[tokio::test]
#[ignore = "needs the real Codex: ./scripts/test --agents"]
async fn codex_meets_every_answer() {
    every_case(Which::Codex).await;
}

/// The time that the service asked to be left alone, as the program shows it.
async fn asked_to_wait(which: Which, asked: u32) -> Option<u64> {
    let stage = Stage::new();
    let limit = FakeAnswer::Error(FakeHttpError::RateLimit(FakeRetryAfter::Seconds(asked)));
    let server = FakeServer::start(limit).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let (ended, _) = work(&*agent, stage.assignment()).await;
    let AgentEnd::Failed(fault) = ended.end else { panic!("{which:?}: {:?}", ended.end) };
    assert_eq!(fault.code(), ProviderRateLimit, "{which:?}: {fault:?}");
    fault.retry_after.map(|wait| wait.as_millis().div_ceil(1_000))
}

// T4.9, B41: the wait that a service asks for is not lost on the way through a program.
#[tokio::test]
#[ignore = "needs the real Claude Code: ./scripts/test --agents"]
async fn claude_code_shows_how_long_to_wait() {
    assert_eq!(asked_to_wait(Which::Claude, 7).await, Some(7));
    assert_eq!(asked_to_wait(Which::Claude, 600).await, Some(60));
}

// T4.9
#[tokio::test]
#[ignore = "needs the real Codex: ./scripts/test --agents"]
async fn codex_shows_how_long_to_wait() {
    let waited = asked_to_wait(Which::Codex, 4).await;
    assert!(matches!(waited, Some(4 | 5)), "{waited:?}");
}

/// The time from the last line that a program says to the end of all of it.
async fn time_to_end(which: Which) -> Duration {
    let stage = Stage::new();
    let server = FakeServer::start(FakeAnswer::with_text("Done.")).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let (tell, mut told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
    let last_sign = async move {
        let mut last = Instant::now();
        while told.recv().await.is_some() {
            last = Instant::now();
        }
        last
    };
    let working = agent.work_on(stage.assignment(), tell, CancellationToken::new());
    let ((ended, over), last) = tokio::join!(async { (working.await, Instant::now()) }, last_sign);
    assert_eq!(code(&ended.end), None, "{which:?}: {:?}", ended.end);
    over.duration_since(last)
}

// B46
#[tokio::test]
#[ignore = "needs the real Codex: ./scripts/test --agents"]
async fn codex_ends_soon_after_its_last_message() {
    let took = time_to_end(Which::Codex).await;
    assert!(took <= Duration::from_millis(500), "{took:?}");
}

/// A port on which no process listens.
async fn unused_port() -> String {
    FakeServer::start(FakeAnswer::with_text("")).await.unwrap().url()
}

async fn refused_connection(which: Which) {
    let stage = Stage::new();
    let agent = stage.agent(which, &program(which), Some(unused_port().await));
    let (ended, _) = work(&*agent, stage.assignment()).await;
    assert_eq!(code(&ended.end), Some(ProviderApiError), "{:?}", ended.end);
}

/// A command in the words of the program's own tool.
fn command(which: Which, command: &str) -> FakeAnswer {
    match which {
        Which::Claude => {
            FakeAnswer::with_call("Bash", &json!({"command": command, "description": "x"}))
        }
        Which::Codex => FakeAnswer::with_call("exec_command", &json!({"cmd": command})),
    }
}

async fn tools_and_going_on(which: Which) {
    let stage = Stage::new();
    let script = FakeScript::new(
        [command(which, "echo hi > made; cat made")],
        FakeAnswer::with_text("Done."),
    );
    let server = FakeServer::start(script).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let (first, activities) = work(&*agent, stage.assignment()).await;
    assert!(matches!(&first.end, AgentEnd::Finished { said, .. } if said == "Done."), "{first:?}");
    assert_eq!(std::fs::read_to_string(stage.path("work/made")).unwrap(), "hi\n");
    let called = activities.iter().any(
        |told| matches!(told, Activity::Called { tool: ToolKind::Command, input, .. } if input.contains("cat made")),
    );
    let returned = activities.iter().any(
        |told| matches!(told, Activity::Returned { outcome: ActionOutcome::Succeeded, output, .. } if output.contains("hi")),
    );
    assert!(called && returned, "{activities:#?}");

    let mut assignment = stage.assignment();
    assignment.thread = first.thread.clone();
    let (second, _) = work(&*agent, assignment).await;
    assert_eq!((code(&second.end), &second.thread), (None, &first.thread), "{second:?}");
    assert_eq!(
        second.usage.total_tokens() * 2,
        first.usage.total_tokens(),
        "one answer instead of two"
    );

    let mut assignment = stage.assignment();
    assignment.thread = Some("11111111-1111-4111-8111-111111111111".to_owned());
    let (third, _) = work(&*agent, assignment).await;
    assert_eq!(code(&third.end), None, "{third:?}");
    assert!(third.thread.is_some() && third.thread != first.thread, "{third:?}");
}

async fn stopping_ends_its_tools(which: Which) {
    let stage = Stage::new();
    let fifo = stage.alive();
    let line = "exec 3>alive; echo up >&3; sleep 3137";
    let server =
        FakeServer::start(FakeScript::new([command(which, line)], FakeAnswer::with_text("?")))
            .await
            .unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    let up = tokio::task::spawn_blocking(move || {
        let alive = FifoReader::open_and_hear(&fifo);
        stopping.cancel();
        alive
    });
    let (ended, _) = work_until(&*agent, stage.assignment(), &stop).await;
    assert_eq!(ended.end, AgentEnd::Stopped);
    assert!(up.await.unwrap().has_ended());
}

async fn turns_are_limited(which: Which) {
    let stage = Stage::new();
    let server = FakeServer::start(command(which, "echo step")).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let mut assignment = stage.assignment();
    assignment.limits.turns_max = Some(2);
    let (ended, _) = work(&*agent, assignment).await;
    assert_eq!(code(&ended.end), Some(LogicLimit), "{:?}", ended.end);
}

/// More than an edit, which Claude Code would take `touch` for.
const FORBIDDEN: &str = "sh -c 'echo x > made'";

/// The command that a person would be asked about.
async fn denials_are_reported(which: Which, agent: &dyn Agent, stage: &Stage) -> String {
    agent.check_ready().await.unwrap();
    let (ended, _) = work(agent, stage.assignment()).await;
    let AgentEnd::Finished { denials, .. } = &ended.end else { panic!("{:?}", ended.end) };
    assert_eq!(denials.len(), 1, "{which:?}: {denials:?}");
    assert_eq!(denials[0].tool, ToolKind::Command);
    assert!(denials[0].what.contains(FORBIDDEN), "{denials:?}");
    assert!(!stage.path("work/made").exists());
    denials[0].what.clone()
}

async fn denied_until_a_person_allows_it(which: Which, agent: &dyn Agent, stage: &Stage) {
    let mut assignment = stage.assignment();
    assignment.allowed_commands = [denials_are_reported(which, agent, stage).await].into();
    let (ended, _) = work(agent, assignment).await;
    let AgentEnd::Finished { denials, .. } = &ended.end else { panic!("{:?}", ended.end) };
    assert!(denials.is_empty(), "{which:?}: {denials:?}");
    assert_eq!(std::fs::read_to_string(stage.path("work/made")).unwrap(), "x\n");
}

/// A service that has the program run what is not allowed, once in each of two conversations.
async fn asks_for_what_is_forbidden(asks: &FakeAnswer) -> FakeServer {
    let twice = [asks.clone(), FakeAnswer::with_text("Done."), asks.clone()];
    FakeServer::start(FakeScript::new(twice, FakeAnswer::with_text("Done."))).await.unwrap()
}

async fn stays_inside_its_wall(which: Which) {
    let stage = Stage::new();
    let outside = stage.path("outside");
    let line = format!("echo in > made; echo out > '{}'; echo tried", outside.display());
    let script = FakeScript::new([command(which, &line)], FakeAnswer::with_text("Done."));
    let server = FakeServer::start(script).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let mut assignment = stage.assignment();
    let temporary = stage.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    assignment.environment.push(("TMPDIR".into(), temporary.clone().into()));
    let writable = vec![stage.path("work"), temporary, "/dev".into()];
    assignment.wall = Wall { writable: Some(writable), ..Wall::default() };
    let held = agent.wall_for(&assignment).try_out().files;
    let (ended, activities) = work(&*agent, assignment).await;
    assert_eq!(code(&ended.end), None, "{which:?}: {:?}\n{activities:#?}", ended.end);
    assert_eq!(std::fs::read_to_string(stage.path("work/made")).unwrap(), "in\n");
    let written = outside.exists();
    assert_eq!(
        written,
        held == EnforcementLevel::NotPossible,
        "{which:?}: {held:?}\n{activities:#?}"
    );
}

// B11, TX15, T4.18: what is not in the table of answers.
#[tokio::test]
#[ignore = "needs the real Claude Code: ./scripts/test --agents"]
async fn claude_code_works_stops_and_goes_on() {
    let which = Which::Claude;
    tools_and_going_on(which).await;
    refused_connection(which).await;
    stopping_ends_its_tools(which).await;
    turns_are_limited(which).await;
    stays_inside_its_wall(which).await;
    let stage = Stage::new();
    let server = asks_for_what_is_forbidden(&command(which, FORBIDDEN)).await;
    let mut settings = stage.claude(&program(which), Some(server.url()));
    settings.permissions =
        ClaudePermissions::Listed(ShellRules { only_allowed: true, ..ShellRules::default() });
    let agent = ClaudeCli::new(settings);
    denied_until_a_person_allows_it(which, &agent, &stage).await;
}

// B11, TX15, T4.18
#[tokio::test]
#[ignore = "needs the real Codex: ./scripts/test --agents"]
async fn codex_works_stops_and_goes_on() {
    let which = Which::Codex;
    tools_and_going_on(which).await;
    refused_connection(which).await;
    stopping_ends_its_tools(which).await;
    turns_are_limited(which).await;
    stays_inside_its_wall(which).await;
    let stage = Stage::new();
    let asks = json!({
        "cmd": FORBIDDEN,
        "sandbox_permissions": "require_escalated",
        "justification": "it has to",
    });
    let server = asks_for_what_is_forbidden(&FakeAnswer::with_call("exec_command", &asks)).await;
    let mut settings = stage.codex(&program(which), Some(server.url()));
    settings.access = CodexAccess::Workspace;
    let agent = CodexCli::new(settings);
    denied_until_a_person_allows_it(which, &agent, &stage).await;
}
