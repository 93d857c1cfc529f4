//! Attempts in which something fails.

use serde_json::json;
use unstuck_core::engine::{Event, TaskState};
use unstuck_core::fault::Code;
use unstuck_world::fake::server::{FakeAnswer, FakeScript};

use crate::agent::model_project::Stage;
use crate::agent::wire::{check, done, read, results, run, write};

const RED: &str = "sh src/check";
const CHECK: &str = "echo 'FAILED test_greeting - assert \"Go away.\" == \"Welcome!\"'; exit 1\n";

// T1.8, T1.9, T2.7: typed, charged, and the answer says what now.
#[tokio::test]
async fn a_typed_failure_is_charged_and_comes_back_with_what_to_do_about_it() {
    let script =
        FakeScript::new([FakeAnswer::with_call("read_file", &json!({"file": "x"}))], done());
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    assert_eq!(stage.faults(), [Code::LogicBadInput]);
    let (_, said, failed) = results(&stage.asked_of("a")[1]).remove(0);
    assert!(failed && said.contains("APPROACH 1 FAILED"), "{said}");
    assert!(said.contains("approach 2 of 3") && said.contains("The tree was kept"), "{said}");
    let retrying = |event: &Event| {
        matches!(event, Event::Retrying { attempt: 1, code: Code::LogicBadInput, .. })
    };
    assert_eq!(stage.happened().iter().filter(|event| retrying(event)).count(), 1);
    check(&stage.asked_of("a")[1]);
}

// T1.16: the real tool, the real shell, the real counters.
#[tokio::test]
async fn a_red_test_costs_nothing_until_it_comes_back_from_a_changed_tree() {
    let script = FakeScript::new(
        [
            run("grep nothing src/greeting"),
            write("src/check", CHECK),
            run(RED),
            run(RED),
            write("src/greeting", "Welcome\n"),
            run(RED),
        ],
        done(),
    );
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    let seen = |at: usize| results(&asked[at]).remove(0);
    assert!(seen(1).1.contains("status 1") && seen(1).2, "the answer no: {}", seen(1).1);
    for at in [3, 4] {
        assert!(seen(at).1.starts_with("FAILED test_greeting"), "{}", seen(at).1);
    }
    let charged = seen(6).1;
    assert!(
        charged.contains("APPROACH 1 FAILED") && charged.contains("OUTPUT\nFAILED"),
        "{charged}"
    );
    assert_eq!(stage.faults(), [Code::LogicError], "once");
    let observed = |event: &&Event| matches!(event, Event::Observed { .. });
    assert_eq!(stage.happened().iter().filter(observed).count(), 3, "and the grep never");
}

// T1.16
#[tokio::test]
async fn a_file_that_is_not_there_is_a_step_on_the_way() {
    let script = FakeScript::new([read("src/gone"), read("src/lost"), read("src/gone")], done());
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    assert_eq!(stage.faults(), []);
    assert!(results(&stage.asked_of("a")[1])[0].1.starts_with("LOGIC_ERROR: src/gone"));
}

#[tokio::test]
async fn an_agent_that_goes_in_circles_is_told_and_then_ended() {
    let script = FakeScript::new([], run("cat src/gone"));
    let mut stage = Stage::new(script).await;
    stage
        .sees(|event| {
            matches!(event, Event::FaultMet { fault, .. }
        if fault.code() == Code::LogicNoProgress)
        })
        .await;
    let first: Vec<_> = stage.asked_of("a").into_iter().take(4).collect();
    assert_eq!(first.len(), 4, "the fourth time is one too many");
    let told = |at: usize| first[at].to_string().contains("Doing it again will not help");
    assert!(!told(2) && told(3), "one nudge");
    first.iter().for_each(check);
    let retried = stage.happened().iter().any(|event| matches!(event, Event::Retrying { .. }));
    assert!(retried || stage.asked_of("a").len() >= 4);
}

#[tokio::test]
async fn steps_are_counted_and_used_up() {
    let mut policy = unstuck_core::policy::Policy::default();
    policy.retry.iterations = 3;
    let script = FakeScript::new(
        [write("src/a", "1"), write("src/b", "2"), write("src/c", "3"), done()],
        done(),
    );
    let mut stage = Stage::with(policy, [("a", script)]).await;
    stage.completed().await;
    assert_eq!(stage.faults(), [Code::LogicLimit]);
    assert_eq!(stage.asked_of("a").len(), 4);
    assert_eq!(stage.asked_of("a")[3].as_array().unwrap().len(), 1, "a new conversation");
}

// T3.11: what the agent's own code does wrong is logic.
#[tokio::test]
async fn a_failure_without_a_name_is_the_works_own() {
    let script = FakeScript::new(
        [],
        run("echo 'Traceback (most recent call last):'; date +%N > src/x; \
        echo 'KeyError: boom'; exit 1"),
    );
    let mut stage = Stage::new(script).await;
    stage
        .wait_until(|state| {
            state.tasks().all(|task| matches!(task.state, TaskState::Parked { .. }))
        })
        .await;
    let faults = stage.faults();
    assert!(
        faults.iter().all(|code| matches!(code, Code::LogicError | Code::LogicNoProgress)),
        "{faults:?}"
    );
    assert!(!faults.is_empty());
}
