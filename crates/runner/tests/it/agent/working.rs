//! When things go well.

use serde_json::json;
use unstuck_core::engine::{Event, TaskId};
use unstuck_world::fake::server::{FakeAnswer, FakeScript, FakeStopReason, FakeToolCall, FakeTurn};

use crate::agent::model_project::{CANARY, Stage};
use crate::agent::wire::{check, done, read, results, run, text, write};

#[tokio::test]
async fn a_task_is_done_with_edits() {
    let edit = json!({"path": "src/greeting", "old": "Go away.", "new": "Welcome!"});
    let script = FakeScript::new(
        [
            FakeAnswer::with_call("narrate", &json!({"text": "I look at the greeting."})),
            FakeAnswer::with_calls([
                FakeToolCall::new("read_file", &json!({"path": "src/greeting"})),
                FakeToolCall::new("list", &json!({})),
            ]),
            FakeAnswer::with_call("edit_file", &edit),
            run("grep Welcome src/greeting"),
        ],
        done(),
    );
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    assert_eq!(stage.file(0, "src/greeting"), "Welcome!\n");
    let asked = stage.asked_of("a");
    assert_eq!(asked.len(), 5);
    asked.iter().for_each(check);
    assert!(text(&asked[0]).contains("Make the greeting friendly."));
    let seen = results(&asked[2]);
    assert_eq!((seen[0].1.as_str(), seen[0].2), ("Go away.", false));
    assert!(seen[1].1.contains("src/greeting"), "{}", seen[1].1);
    assert_eq!(results(&asked[4])[0].1, "Welcome!");
    assert_eq!(stage.faults(), []);
    // T1.12
    let happened = stage.happened();
    let count = |wanted: fn(&Event) -> bool| happened.iter().filter(|event| wanted(event)).count();
    assert_eq!(count(|event| matches!(event, Event::Thinking { .. })), 5);
    assert_eq!(count(|event| matches!(event, Event::ToolCalled { .. })), 6);
    assert_eq!(
        count(|event| matches!(event, Event::Narrated { text, .. }
        if &**text == "I look at the greeting.")),
        1
    );
    let approach = happened.iter().find_map(|event| match event {
        Event::ApproachTaken { approach, .. } => Some(approach),
        _ => None,
    });
    let approach = approach.unwrap();
    assert_eq!((approach.summary.as_str(), approach.commands), ("It is friendly now.", 1));
    assert_eq!(approach.files, ["src/greeting"]);
}

#[tokio::test]
async fn what_a_call_used_is_spent() {
    let mut stage = Stage::new(FakeScript::new([read("src/greeting")], done())).await;
    stage.completed().await;
    let spent = stage.look(|state| state.tasks().next().unwrap().spent).await;
    assert!(spent.tokens > 0, "{spent:?}");
    let reserved = stage.look(|state| state.tasks().next().unwrap().reserved).await;
    assert!(reserved.is_zero(), "{reserved:?}");
    assert_eq!(stage.faults(), []);
}

// TX16, B9: of files, commands, a model's own words and faults.
#[tokio::test]
async fn a_secret_reaches_neither_the_model_nor_the_journal() {
    let script = FakeScript::new(
        [
            read("src/secret"),
            run("cat src/secret; echo FAILED test_secret; exit 1"),
            run(&format!("echo 'fatal: {CANARY}: connection refused'; exit 1")),
            FakeAnswer::with_call("narrate", &json!({"text": format!("It is {CANARY}.")})),
        ],
        FakeAnswer::with_call("ask_human", &json!({"question": format!("Is {CANARY} right?")})),
    );
    let mut stage = Stage::new(script).await;
    stage.asked().await;
    for asked in stage.asked_of("a") {
        check(&asked);
        assert!(!text(&asked).contains(CANARY), "{}", text(&asked));
    }
    assert!(text(&stage.asked_of("a")[1]).contains("[redacted]"));
    assert!(!stage.remembered(TaskId(0)).await.contains(CANARY));
}

#[tokio::test]
async fn an_action_is_declared_and_runs_after_the_checks() {
    let command = |line: &str| json!({"kind": "command", "command": line});
    let wish = json!({"key": "release", "action": command("./release"), "probe": "./released"});
    let other = json!({"key": "release", "action": command("./other")});
    let script = FakeScript::new(
        [FakeAnswer::with_call("mutate", &wish), FakeAnswer::with_call("mutate", &other)],
        done(),
    );
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    let answer: serde_json::Value = serde_json::from_str(&results(&asked[1])[0].1).unwrap();
    let expected = json!({"key": "release", "kind": "command", "state": "declared",
        "runs": "once, after the checks and when a person has said yes to it"});
    assert_eq!(answer, expected);
    let (_, refused, failed) = results(&asked[2]).remove(0);
    assert!(failed && refused.contains("other arguments"), "{refused}");
    let happened = stage.happened();
    let place = |wanted: fn(&Event) -> bool| happened.iter().position(wanted).unwrap();
    let declared = place(|event| {
        matches!(event, Event::Declared { mutation, .. }
        if mutation.key == "release" && mutation.look_up.is_some() && mutation.call.is_some())
    });
    let intended = place(|event| matches!(event, Event::MutationIntended { .. }));
    assert!(declared < place(|event| matches!(event, Event::ApproachTaken { .. })));
    assert!(place(|event| matches!(event, Event::ApproachTaken { .. })) < intended);
}

#[tokio::test]
async fn being_done_is_not_taken_from_a_turn_in_which_something_failed() {
    let both = FakeAnswer::Turn(FakeTurn {
        text: "Both at once.".to_owned(),
        calls: vec![
            FakeToolCall::new("run_command", &json!({"command": "exit 1"})),
            FakeToolCall::new("task_done", &json!({"summary": "x"})),
        ],
        ..FakeTurn::default()
    });
    let mut stage = Stage::new(FakeScript::new([both], done())).await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    // Once more, because it changed nothing.
    assert_eq!(asked.len(), 3);
    assert!(results(&asked[1])[1].1.starts_with("not taken"));
}

#[tokio::test]
async fn a_turn_that_was_paused_is_asked_for_again_as_it_is() {
    let script = FakeScript::new(
        [FakeAnswer::with_stop(FakeStopReason::Paused), write("src/greeting", "Hi\n")],
        done(),
    );
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    assert_eq!(asked.len(), 3);
    let roles = |asked: &serde_json::Value| {
        let messages = asked.as_array().unwrap().iter();
        messages.map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(roles(&asked[1]), ["user", "assistant"], "nothing of ours in between");
    assert!(!asked[1].to_string().contains("pause_turn"), "our note is not sent");
    check(&asked[2]);
    assert_eq!(asked[2][1]["content"].as_array().unwrap().len(), 2, "one turn in two parts");
    assert_eq!(stage.faults(), []);
}

#[tokio::test]
async fn work_that_ends_in_words_is_checked() {
    let script = FakeScript::new(
        [write("src/greeting", "Hi\n")],
        FakeAnswer::with_text("It is friendly now."),
    );
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    assert_eq!(stage.faults(), []);
    assert_eq!(stage.file(0, "src/greeting"), "Hi\n");
    let approach = stage.happened().iter().find_map(|event| match event {
        Event::ApproachTaken { approach, .. } => Some(approach),
        _ => None,
    });
    assert_eq!(approach.unwrap().summary, "It is friendly now.");
}

#[tokio::test]
async fn words_alone_are_answered_and_a_few_of_them_end_the_attempt() {
    let script =
        FakeScript::new([FakeAnswer::with_text("I think."), write("src/greeting", "Hi\n")], done());
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    assert_eq!(stage.faults(), []);
    assert!(text(&stage.asked_of("a")[1]).contains("call task_done"));
    check(&stage.asked_of("a")[1]);
}
