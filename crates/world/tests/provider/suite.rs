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
use unstuck_core::attempt::{Outcome, ToolKind};
use unstuck_core::fault::Code::{self, *};
use unstuck_world::agent::{ACTIVITIES_QUEUED_MAX, Activity, Agent, End};
use unstuck_world::fake::server::{Answer, HttpError, RetryAfter, Script, Server, Stop, Trouble};
use unstuck_world::process::{Hold, Wall};
use unstuck_world::provider::claude_cli::{ClaudeCli, Permissions, ShellRules};
use unstuck_world::provider::codex_cli::{Access, CodexCli, native};

use crate::stage::{Alive, Stage, Which, code, work, work_until};

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
    native(&found)
}

/// The result of an answer: the codes of Claude Code and of Codex. None is the end of the work.
struct Case {
    name: &'static str,
    answer: Answer,
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
    answer: Answer,
    claude: Option<Code>,
    codex: Option<Code>,
) -> Case {
    Case { name, answer, claude, codex, claude_calls: 1 }
}

/// The same of both.
const fn both(name: &'static str, answer: Answer, code: Code) -> Case {
    case(name, answer, Some(code), Some(code))
}

fn cases() -> Vec<Case> {
    use Answer::{Error, Trouble as Fails};
    let codes = |one, two| (Some(one), Some(two));
    let unlike = |name, answer, (claude, codex)| case(name, answer, claude, codex);
    vec![
        case("text", Answer::text("Done."), None, None),
        both("401", Error(HttpError::Unauthorized), AuthInvalid),
        both("403", Error(HttpError::Forbidden), AuthInvalid),
        both("402", Error(HttpError::PaymentRequired), ProviderQuota),
        both("no credit", Error(HttpError::NoCredit), ProviderQuota),
        both("404", Error(HttpError::NoSuchModel), ProviderNotAvailable).claude_calls(2),
        both("429", Error(HttpError::RateLimit(RetryAfter::Seconds(2))), ProviderRateLimit),
        both("500", Error(HttpError::Internal), ProviderApiError),
        both("503", Error(HttpError::Unavailable), ProviderApiError),
        both("overloaded", Error(HttpError::Overloaded), ProviderOverloaded),
        both("context too long", Error(HttpError::ContextTooLong), ProviderContextTooLong),
        both("413", Error(HttpError::TooLarge), ProviderContextTooLong),
        both("400", Error(HttpError::Invalid), ProviderRejected),
        both("418", Error(HttpError::Unheard), ProviderRejected),
        both("502 with a page", Error(HttpError::Page), ProviderApiError),
        both("hang before headers", Fails(Trouble::HangBeforeHeaders), IterationTimeout),
        both("hang after the first event", Fails(Trouble::HangAfterFirstEvent), IterationTimeout),
        both("cut", Fails(Trouble::Cut), ProviderApiError),
        both("ends early", Fails(Trouble::EndsEarly), ProviderApiError),
        both("malformed", Fails(Trouble::Malformed), ProviderApiError),
        both("empty", Fails(Trouble::Empty), ProviderApiError),
        both("a page", Fails(Trouble::WrongContentType), ProviderApiError),
        // What is said in the middle of a stream, Claude Code repeats as prose only.
        unlike(
            "overloaded mid-stream",
            Fails(Trouble::OverloadedMidStream),
            codes(ProviderApiError, ProviderOverloaded),
        )
        .claude_calls(3),
        both("refusal", Answer::stopped(Stop::Refusal), ProviderRefused),
        // Claude Code first asks the model three times to go on.
        both("output limit", Answer::stopped(Stop::OutputLimit), ProviderOutputLimit)
            .claude_calls(4),
    ]
}

async fn every_case(which: Which) {
    let mut wrong = Vec::new();
    for Case { name, answer, claude, codex, claude_calls } in cases() {
        let stage = Stage::new();
        let hangs = matches!(
            answer,
            Answer::Trouble(Trouble::HangBeforeHeaders | Trouble::HangAfterFirstEvent)
        );
        let server = Server::start(answer).await.unwrap();
        let agent = stage.agent(which, &program(which), Some(server.url()));
        agent.check().await.unwrap();
        let mut assignment = stage.assignment();
        if hangs {
            assignment.limits.idle = IDLE;
        }
        let (ended, _) = work(&*agent, assignment).await;
        let expected = match which {
            Which::Claude => (claude, claude_calls),
            Which::Codex => (codex, 1),
        };
        let calls = server.calls().len();
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
    let limit = Answer::Error(HttpError::RateLimit(RetryAfter::Seconds(asked)));
    let server = Server::start(limit).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let (ended, _) = work(&*agent, stage.assignment()).await;
    let End::Failed(fault) = ended.end else { panic!("{which:?}: {:?}", ended.end) };
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
    let server = Server::start(Answer::text("Done.")).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let (tell, mut told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
    let last_sign = async move {
        let mut last = Instant::now();
        while told.recv().await.is_some() {
            last = Instant::now();
        }
        last
    };
    let working = agent.work(stage.assignment(), tell, CancellationToken::new());
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
    Server::start(Answer::text("")).await.unwrap().url()
}

async fn refused_connection(which: Which) {
    let stage = Stage::new();
    let agent = stage.agent(which, &program(which), Some(unused_port().await));
    let (ended, _) = work(&*agent, stage.assignment()).await;
    assert_eq!(code(&ended.end), Some(ProviderApiError), "{:?}", ended.end);
}

/// A command in the words of the program's own tool.
fn command(which: Which, command: &str) -> Answer {
    match which {
        Which::Claude => Answer::call("Bash", &json!({"command": command, "description": "x"})),
        Which::Codex => Answer::call("exec_command", &json!({"cmd": command})),
    }
}

async fn tools_and_going_on(which: Which) {
    let stage = Stage::new();
    let script = Script::new([command(which, "echo hi > made; cat made")], Answer::text("Done."));
    let server = Server::start(script).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let (first, activities) = work(&*agent, stage.assignment()).await;
    assert!(matches!(&first.end, End::Finished { said, .. } if said == "Done."), "{first:?}");
    assert_eq!(std::fs::read_to_string(stage.path("work/made")).unwrap(), "hi\n");
    let called = activities.iter().any(
        |told| matches!(told, Activity::Called { tool: ToolKind::Command, input, .. } if input.contains("cat made")),
    );
    let returned = activities.iter().any(
        |told| matches!(told, Activity::Returned { outcome: Outcome::Succeeded, output, .. } if output.contains("hi")),
    );
    assert!(called && returned, "{activities:#?}");

    let mut assignment = stage.assignment();
    assignment.thread = first.thread.clone();
    let (second, _) = work(&*agent, assignment).await;
    assert_eq!((code(&second.end), &second.thread), (None, &first.thread), "{second:?}");
    assert_eq!(second.usage.tokens() * 2, first.usage.tokens(), "one answer instead of two");

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
        Server::start(Script::new([command(which, line)], Answer::text("?"))).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    let up = tokio::task::spawn_blocking(move || {
        let alive = Alive::heard(&fifo);
        stopping.cancel();
        alive
    });
    let (ended, _) = work_until(&*agent, stage.assignment(), &stop).await;
    assert_eq!(ended.end, End::Stopped);
    assert!(up.await.unwrap().none_left());
}

async fn turns_are_limited(which: Which) {
    let stage = Stage::new();
    let server = Server::start(command(which, "echo step")).await.unwrap();
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
    agent.check().await.unwrap();
    let (ended, _) = work(agent, stage.assignment()).await;
    let End::Finished { denials, .. } = &ended.end else { panic!("{:?}", ended.end) };
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
    let End::Finished { denials, .. } = &ended.end else { panic!("{:?}", ended.end) };
    assert!(denials.is_empty(), "{which:?}: {denials:?}");
    assert_eq!(std::fs::read_to_string(stage.path("work/made")).unwrap(), "x\n");
}

/// A service that has the program run what is not allowed, once in each of two conversations.
async fn asks_for_what_is_forbidden(asks: &Answer) -> Server {
    let twice = [asks.clone(), Answer::text("Done."), asks.clone()];
    Server::start(Script::new(twice, Answer::text("Done."))).await.unwrap()
}

async fn stays_inside_its_wall(which: Which) {
    let stage = Stage::new();
    let outside = stage.path("outside");
    let line = format!("echo in > made; echo out > '{}'; echo tried", outside.display());
    let script = Script::new([command(which, &line)], Answer::text("Done."));
    let server = Server::start(script).await.unwrap();
    let agent = stage.agent(which, &program(which), Some(server.url()));
    let mut assignment = stage.assignment();
    let temporary = stage.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    assignment.environment.push(("TMPDIR".into(), temporary.clone().into()));
    let writable = vec![stage.path("work"), temporary, "/dev".into()];
    assignment.wall = Wall { writable: Some(writable), ..Wall::default() };
    let held = agent.wall(&assignment).try_out().files;
    let (ended, activities) = work(&*agent, assignment).await;
    assert_eq!(code(&ended.end), None, "{which:?}: {:?}\n{activities:#?}", ended.end);
    assert_eq!(std::fs::read_to_string(stage.path("work/made")).unwrap(), "in\n");
    let written = outside.exists();
    assert_eq!(written, held == Hold::NotPossible, "{which:?}: {held:?}\n{activities:#?}");
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
        Permissions::Listed(ShellRules { only_allowed: true, ..ShellRules::default() });
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
    let server = asks_for_what_is_forbidden(&Answer::call("exec_command", &asks)).await;
    let mut settings = stage.codex(&program(which), Some(server.url()));
    settings.access = Access::Workspace;
    let agent = CodexCli::new(settings);
    denied_until_a_person_allows_it(which, &agent, &stage).await;
}
