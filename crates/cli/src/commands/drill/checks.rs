//! The checks of the drill: failures to provoke, and the behavior expected then.

use serde_json::json;
use unstuck_core::engine::Event;
use unstuck_core::fault::{Category, Code};
use unstuck_world::fake::server::{
    FakeAnswer, FakeHttpError, FakeRetryAfter, FakeScript, FakeServer, FakeToolCall,
};

use super::place::{DrillProject, create_fifo, release_fifo, wait_for_fifo};
use super::wall::{self, DrillAttackResult};

pub(super) struct DrillCheck {
    pub(super) name: &'static str,
    /// The behavior that must hold.
    pub(super) promise: &'static str,
    what: DrillFailure,
}

#[derive(Clone, Copy)]
enum DrillFailure {
    RateLimit,
    Overload,
    WrongKey,
    HungAgent,
    OutsideScope,
    SameError,
    Killed,
    KilledPush,
    Wall,
}

/// The name of the check of the scope.
pub(super) const SCOPE_NAME: &str = "outside-the-scope";
/// The name of the check of the scope in earlier versions.
pub(super) const OLD_SCOPE_NAME: &str = "outside-the-fence";

pub(super) const CHECKS: [DrillCheck; 9] = [
    DrillCheck {
        name: "rate-limit",
        promise: "a limited account is waited out without a question",
        what: DrillFailure::RateLimit,
    },
    DrillCheck {
        name: "overload",
        promise: "an overloaded service is waited out without a question",
        what: DrillFailure::Overload,
    },
    DrillCheck {
        name: "wrong-key",
        promise: "a wrong key is not tried twice: you are asked",
        what: DrillFailure::WrongKey,
    },
    DrillCheck {
        name: "hung-agent",
        promise: "an agent that hangs is ended, and the work continues",
        what: DrillFailure::HungAgent,
    },
    DrillCheck {
        name: SCOPE_NAME,
        promise: "a change outside its scope is taken back",
        what: DrillFailure::OutsideScope,
    },
    DrillCheck {
        name: "same-error",
        promise: "an error that comes back gets three other approaches, then a question",
        what: DrillFailure::SameError,
    },
    DrillCheck {
        name: "killed",
        promise: "killed in the middle, it continues and leaves nothing behind",
        what: DrillFailure::Killed,
    },
    DrillCheck {
        name: "killed-push",
        promise: "killed between a push and its answer, it does not push again",
        what: DrillFailure::KilledPush,
    },
    DrillCheck {
        name: "wall",
        promise: "an agent that tries to break out is stopped, with the settings of `unstuck init`",
        what: DrillFailure::Wall,
    },
];

/// A step of work that passes its check.
const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;
/// A key for a local service, which accepts any.
const KEY: (&str, &str) = ("DRILL_KEY", "sk-drill-0000000000");

/// The result of a check: an error describes the behavior seen instead of the promised one.
type DrillResult = Result<(), String>;

/// Carries out a check; returns the attacks of a hostile agent, and the behavior seen instead of the
/// promised one.
pub(super) async fn provoke_failure(
    check: &DrillCheck,
    place: &DrillProject,
) -> (Vec<DrillAttackResult>, Option<String>) {
    let seen = match check.what {
        DrillFailure::Wall => return wall::run_attacks(place).await,
        DrillFailure::RateLimit => {
            check_limited(place, FakeHttpError::RateLimit(FakeRetryAfter::Seconds(1))).await
        }
        DrillFailure::Overload => check_limited(place, FakeHttpError::Overloaded).await,
        DrillFailure::WrongKey => check_wrong_key(place).await,
        DrillFailure::HungAgent => check_hung_agent(place).await,
        DrillFailure::OutsideScope => check_outside_scope(place).await,
        DrillFailure::SameError => check_same_error(place).await,
        DrillFailure::Killed => check_killed(place).await,
        DrillFailure::KilledPush => check_killed_push(place).await,
    };
    (Vec::new(), seen.err())
}

/// Starts a local service with a scripted model.
async fn start_service(place: &DrillProject, script: FakeScript) -> Result<FakeServer, String> {
    let server = FakeServer::start(script).await.map_err(|error| error.to_string())?;
    let url = server.url();
    let key = KEY.0;
    place.set_up(&format!(
        "[agent]\nprovider = \"anthropic-api\"\nmodel = \"claude-opus-4-5\"\n\
         base_url = \"{url}\"\nkey_env = \"{key}\"\n"
    ))?;
    Ok(server)
}

/// Returns the responses of a model that writes a file and is done.
fn working_responses() -> [FakeAnswer; 2] {
    let write = json!({ "path": "work/a.txt", "content": "fine\n" });
    let done = json!({ "summary": "It is written." });
    [
        FakeAnswer::with_calls([FakeToolCall::new("write_file", &write)]),
        FakeAnswer::with_calls([FakeToolCall::new("task_done", &done)]),
    ]
}

async fn check_limited(place: &DrillProject, trouble: FakeHttpError) -> DrillResult {
    let [write, done] = working_responses();
    let script = FakeScript::new([FakeAnswer::Error(trouble), write], done);
    let server = start_service(place, script).await?;
    place.expect_exit_with(&["run", "write a"], &[KEY], 0).await?;
    expect_no_questions(place).await?;
    let waits = place.count_events(|event| matches!(event, Event::GateWaiting { .. })).await?;
    expect_that(waits == 1, || format!("it waited {waits} times"))?;
    let calls = server.model_calls().len();
    expect_that(calls == 3, || format!("the service was called {calls} times, and 3 were needed"))?;
    expect_that(place.has_landed("work/a.txt"), || "the work was not committed".to_owned())
}

async fn check_wrong_key(place: &DrillProject) -> DrillResult {
    let server =
        start_service(place, FakeAnswer::Error(FakeHttpError::Unauthorized).into()).await?;
    place.expect_exit_with(&["run", "write a", "--max-wait", "0"], &[KEY], 3).await?;
    let calls = server.model_calls().len();
    expect_that(calls == 1, || format!("the service was called {calls} times"))?;
    let questions = place.load_questions().await?;
    let codes: Vec<Option<Code>> = questions.iter().map(|question| question.code).collect();
    expect_that(codes == [Some(Code::AuthInvalid)], || format!("asked about {codes:?}"))
}

async fn check_hung_agent(place: &DrillProject) -> DrillResult {
    place.write_agent_script(&[&format!("{{hang = true}}, {GREEN}")], "")?;
    let soon = [("UNSTUCK_RUN_IDLE", "1s"), ("UNSTUCK_RUN_FIRST_SIGN", "1s")];
    place.expect_exit_with(&["run", "write a"], &soon, 0).await?;
    expect_no_questions(place).await?;
    expect_faults(place, Category::Timeout, 1).await?;
    expect_that(place.has_landed("work/a.txt"), || "the work was not committed".to_owned())
}

async fn check_outside_scope(place: &DrillProject) -> DrillResult {
    let both = r#"{write = "work/a.txt", text = "fine\n"}, {write = "prices.txt", text = "0\n"}"#;
    place.write_agent_script(&[both, GREEN], "")?;
    place.expect_exit(&["run", "write a"], 0).await?;
    expect_faults(place, Category::Scope, 1).await?;
    expect_that(!place.has_landed("prices.txt"), || {
        "the change outside its scope was committed".to_owned()
    })?;
    expect_that(place.has_landed("work/a.txt"), || "the work was not committed".to_owned())
}

async fn check_same_error(place: &DrillProject) -> DrillResult {
    let tries: Vec<String> =
        (0..4).map(|n| format!("{{write = \"work/{n}.txt\", text = \"broken\\n\"}}")).collect();
    // The output is fixed, because one that named the file would be another error each time.
    place.write_file(
        "check.sh",
        "! grep -rq broken work || { echo 'it is broken' >&2; exit 1; }\n",
    )?;
    place.write_agent_script(&tries.iter().map(String::as_str).collect::<Vec<_>>(), "")?;
    place.expect_exit(&["run", "write a", "--max-wait", "0"], 3).await?;
    let attempts = place.load_task().await?.moved.attempts;
    expect_that(attempts == 4, || format!("it took {attempts} attempts"))?;
    let asked = place.load_questions().await?.len();
    expect_that(asked == 1, || format!("{asked} questions were asked"))
}

async fn check_killed(place: &DrillProject) -> DrillResult {
    let busy = r#"{run = "echo > ../../../up; test -e ../../../go || sleep 60"}"#;
    // The fifo through which the agent reports that it is at work.
    create_fifo(&place.path("up"))?;
    place.write_file(".gitignore", "/up\n/go\n")?;
    place.write_agent_script(&[&format!("{busy}, {GREEN}")], "[wall]\nwritable = [\"up\"]\n")?;
    kill_when_reported(place, "up").await?;
    place.write_file("go", "")?;
    let (resumed, up) =
        tokio::join!(place.expect_exit(&["resume"], 0), wait_for_fifo(place.path("up")));
    resumed.and(up)?;
    let crashes = place.count_events(|event| matches!(event, Event::RunCrashed { .. })).await?;
    expect_that(crashes == 1, || format!("{crashes} runs were cut off"))?;
    expect_that(place.has_landed("work/a.txt"), || "the work was not committed".to_owned())
}

async fn check_killed_push(place: &DrillProject) -> DrillResult {
    let remote = place.path("remote.git");
    let url = remote.display().to_string();
    place.run_git(&["init", "--quiet", "--bare", &url])?;
    create_fifo(&place.path("up"))?;
    create_fifo(&place.path("go"))?;
    // The push has arrived, but the pushing process gets no response.
    let hook = "#!/bin/sh\necho pushed >> ../pushes\necho > ../up\nread go < ../go\n";
    place.write_program("remote.git/hooks/post-receive", hook)?;
    place.write_file(".gitignore", "/remote.git\n/up\n/go\n/pushes\n")?;
    place.write_agent_script(&[GREEN], &format!("push = true\nremote = \"{url}\"\n"))?;
    kill_when_reported(place, "up").await?;
    place.expect_exit(&["resume"], 0).await?;
    release_fifo(&place.path("go"))?;
    let pushes = std::fs::read_to_string(place.path("pushes")).unwrap_or_default();
    expect_that(pushes == "pushed\n", || {
        format!("it was pushed {} times", pushes.lines().count())
    })?;
    let there = place.run_git(&["ls-remote", &url, "refs/heads/unstuck/b0"])?;
    expect_that(!there.is_empty(), || "the push is not there".to_owned())?;
    expect_no_questions(place).await
}

/// Kills the program once it reports through a fifo.
async fn kill_when_reported(place: &DrillProject, fifo: &str) -> DrillResult {
    let mut child = place.start_unstuck(&["run", "write a"])?;
    wait_for_fifo(place.path(fifo)).await?;
    child.kill().await.map_err(|error| error.to_string())
}

async fn expect_no_questions(place: &DrillProject) -> DrillResult {
    let asked = place.load_questions().await?;
    let about = || asked.iter().map(|question| question.text.problem.clone()).collect::<Vec<_>>();
    expect_that(asked.is_empty(), || format!("a question was asked: {}", about().join(" ")))
}

/// Expects that a fault of this category was met `times` times.
async fn expect_faults(place: &DrillProject, category: Category, times: usize) -> DrillResult {
    let met = |event: &Event| matches!(event, Event::FaultMet { fault, .. } if fault.category() == category);
    let met = place.count_events(met).await?;
    expect_that(met == times, || format!("it was met {met} times"))
}

fn expect_that(holds: bool, otherwise: impl FnOnce() -> String) -> DrillResult {
    if holds { Ok(()) } else { Err(otherwise()) }
}
