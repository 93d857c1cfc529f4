//! The checks of the drill: failures to provoke, and the behavior expected then.

use serde_json::json;
use unstuck_core::engine::Event;
use unstuck_core::fault::{Category, Code};
use unstuck_world::fake::server::{Answer, Call, HttpError, RetryAfter, Script, Server};

use super::place::{Place, fifo, heard, let_go};
use super::wall::{self, Tried};

/// A failure that is provoked.
pub(super) struct Check {
    pub(super) name: &'static str,
    /// The behavior that must hold.
    pub(super) promise: &'static str,
    what: What,
}

/// The kind of failure.
#[derive(Clone, Copy)]
enum What {
    RateLimit,
    Overload,
    WrongKey,
    HungAgent,
    OutsideTheFence,
    SameError,
    Killed,
    KilledPush,
    Wall,
}

pub(super) const CHECKS: [Check; 9] = [
    Check {
        name: "rate-limit",
        promise: "a limited account is waited out without a question",
        what: What::RateLimit,
    },
    Check {
        name: "overload",
        promise: "an overloaded service is waited out without a question",
        what: What::Overload,
    },
    Check {
        name: "wrong-key",
        promise: "a wrong key is not tried twice: you are asked",
        what: What::WrongKey,
    },
    Check {
        name: "hung-agent",
        promise: "an agent that hangs is ended, and the work goes on",
        what: What::HungAgent,
    },
    Check {
        name: "outside-the-fence",
        promise: "a change outside the fence is taken back",
        what: What::OutsideTheFence,
    },
    Check {
        name: "same-error",
        promise: "an error that comes back gets three other ways, then a question",
        what: What::SameError,
    },
    Check {
        name: "killed",
        promise: "killed in the middle, it goes on and leaves nothing behind",
        what: What::Killed,
    },
    Check {
        name: "killed-push",
        promise: "killed between a push and its answer, it does not push again",
        what: What::KilledPush,
    },
    Check {
        name: "wall",
        promise: "an agent that wants harm gets nowhere, with the settings of `unstuck init`",
        what: What::Wall,
    },
];

/// A step of work that passes its check.
const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;
/// A key for a local service, which accepts any.
const KEY: (&str, &str) = ("DRILL_KEY", "sk-drill-0000000000");

/// The result of a check: an error describes the behavior seen instead of the promised one.
type Seen = Result<(), String>;

/// Carries out a check; returns the attacks of a hostile agent, and the behavior seen instead of the
/// promised one.
pub(super) async fn carry_out(check: &Check, place: &Place) -> (Vec<Tried>, Option<String>) {
    let seen = match check.what {
        What::Wall => return wall::carry_out(place).await,
        What::RateLimit => limited(place, HttpError::RateLimit(RetryAfter::Seconds(1))).await,
        What::Overload => limited(place, HttpError::Overloaded).await,
        What::WrongKey => wrong_key(place).await,
        What::HungAgent => hung_agent(place).await,
        What::OutsideTheFence => outside_the_fence(place).await,
        What::SameError => same_error(place).await,
        What::Killed => killed(place).await,
        What::KilledPush => killed_push(place).await,
    };
    (Vec::new(), seen.err())
}

/// Starts a local service with a scripted model.
async fn service(place: &Place, script: Script) -> Result<Server, String> {
    let server = Server::start(script).await.map_err(|error| error.to_string())?;
    let url = server.url();
    let key = KEY.0;
    place.set_up(&format!(
        "[agent]\nprovider = \"anthropic-api\"\nmodel = \"claude-opus-4-5\"\n\
         base_url = \"{url}\"\nkey_env = \"{key}\"\n"
    ))?;
    Ok(server)
}

/// Returns the responses of a model that writes a file and is done.
fn works() -> [Answer; 2] {
    let write = json!({ "path": "work/a.txt", "content": "fine\n" });
    let done = json!({ "summary": "It is written." });
    [
        Answer::calls([Call::new("write_file", &write)]),
        Answer::calls([Call::new("task_done", &done)]),
    ]
}

async fn limited(place: &Place, trouble: HttpError) -> Seen {
    let [write, done] = works();
    let script = Script::new([Answer::Error(trouble), write], done);
    let server = service(place, script).await?;
    place.ends_with(&["run", "write a"], &[KEY], 0).await?;
    nobody_was_asked(place).await?;
    let waits = place.count(|event| matches!(event, Event::GateWaiting { .. })).await?;
    expect(waits == 1, || format!("it waited {waits} times"))?;
    let calls = server.calls().len();
    expect(calls == 3, || format!("the service was called {calls} times, and 3 were needed"))?;
    expect(place.landed("work/a.txt"), || "the work did not land".to_owned())
}

async fn wrong_key(place: &Place) -> Seen {
    let server = service(place, Answer::Error(HttpError::Unauthorized).into()).await?;
    place.ends_with(&["run", "write a", "--max-wait", "0"], &[KEY], 3).await?;
    let calls = server.calls().len();
    expect(calls == 1, || format!("the service was called {calls} times"))?;
    let questions = place.questions().await?;
    let codes: Vec<Option<Code>> = questions.iter().map(|question| question.code).collect();
    expect(codes == [Some(Code::AuthInvalid)], || format!("asked about {codes:?}"))
}

async fn hung_agent(place: &Place) -> Seen {
    place.agent(&[&format!("{{hang = true}}, {GREEN}")], "")?;
    let soon = [("UNSTUCK_RUN_IDLE", "1s"), ("UNSTUCK_RUN_FIRST_SIGN", "1s")];
    place.ends_with(&["run", "write a"], &soon, 0).await?;
    nobody_was_asked(place).await?;
    met(place, Category::Timeout, 1).await?;
    expect(place.landed("work/a.txt"), || "the work did not land".to_owned())
}

async fn outside_the_fence(place: &Place) -> Seen {
    let both = r#"{write = "work/a.txt", text = "fine\n"}, {write = "prices.txt", text = "0\n"}"#;
    place.agent(&[both, GREEN], "")?;
    place.ends(&["run", "write a"], 0).await?;
    met(place, Category::Scope, 1).await?;
    expect(!place.landed("prices.txt"), || "the change outside the fence landed".to_owned())?;
    expect(place.landed("work/a.txt"), || "the work did not land".to_owned())
}

async fn same_error(place: &Place) -> Seen {
    let tries: Vec<String> =
        (0..4).map(|n| format!("{{write = \"work/{n}.txt\", text = \"broken\\n\"}}")).collect();
    // The output is fixed, because one that named the file would be another error each time.
    place.write("check.sh", "! grep -rq broken work || { echo 'it is broken' >&2; exit 1; }\n")?;
    place.agent(&tries.iter().map(String::as_str).collect::<Vec<_>>(), "")?;
    place.ends(&["run", "write a", "--max-wait", "0"], 3).await?;
    let attempts = place.task().await?.moved.attempts;
    expect(attempts == 4, || format!("it took {attempts} attempts"))?;
    let asked = place.questions().await?.len();
    expect(asked == 1, || format!("{asked} questions were asked"))
}

async fn killed(place: &Place) -> Seen {
    let busy = r#"{run = "echo > ../../../up; test -e ../../../go || sleep 60"}"#;
    // The fifo through which the agent reports that it is at work.
    fifo(&place.path("up"))?;
    place.write(".gitignore", "/up\n/go\n")?;
    place.agent(&[&format!("{busy}, {GREEN}")], "[wall]\nwritable = [\"up\"]\n")?;
    kill_at(place, "up").await?;
    place.write("go", "")?;
    let (resumed, up) = tokio::join!(place.ends(&["resume"], 0), heard(place.path("up")));
    resumed.and(up)?;
    let crashes = place.count(|event| matches!(event, Event::RunCrashed { .. })).await?;
    expect(crashes == 1, || format!("{crashes} runs were cut off"))?;
    expect(place.landed("work/a.txt"), || "the work did not land".to_owned())
}

async fn killed_push(place: &Place) -> Seen {
    let remote = place.path("remote.git");
    let url = remote.display().to_string();
    place.git(&["init", "--quiet", "--bare", &url])?;
    fifo(&place.path("up"))?;
    fifo(&place.path("go"))?;
    // The push has arrived, but the pushing process gets no response.
    let hook = "#!/bin/sh\necho pushed >> ../pushes\necho > ../up\nread go < ../go\n";
    place.program("remote.git/hooks/post-receive", hook)?;
    place.write(".gitignore", "/remote.git\n/up\n/go\n/pushes\n")?;
    place.agent(&[GREEN], &format!("push = true\nremote = \"{url}\"\n"))?;
    kill_at(place, "up").await?;
    place.ends(&["resume"], 0).await?;
    let_go(&place.path("go"))?;
    let pushes = std::fs::read_to_string(place.path("pushes")).unwrap_or_default();
    expect(pushes == "pushed\n", || format!("it was pushed {} times", pushes.lines().count()))?;
    let there = place.git(&["ls-remote", &url, "refs/heads/unstuck/b0"])?;
    expect(!there.is_empty(), || "the push is not there".to_owned())?;
    nobody_was_asked(place).await
}

/// Kills the program once it reports through a fifo.
async fn kill_at(place: &Place, fifo: &str) -> Seen {
    let mut child = place.start(&["run", "write a"])?;
    heard(place.path(fifo)).await?;
    child.kill().await.map_err(|error| error.to_string())
}

async fn nobody_was_asked(place: &Place) -> Seen {
    let asked = place.questions().await?;
    let about = || asked.iter().map(|question| question.text.problem.clone()).collect::<Vec<_>>();
    expect(asked.is_empty(), || format!("a question was asked: {}", about().join(" ")))
}

/// Expects that a fault of this category was met `times` times.
async fn met(place: &Place, category: Category, times: usize) -> Seen {
    let met = |event: &Event| matches!(event, Event::FaultMet { fault, .. } if fault.category() == category);
    let met = place.count(met).await?;
    expect(met == times, || format!("it was met {met} times"))
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Seen {
    if holds { Ok(()) } else { Err(otherwise()) }
}
