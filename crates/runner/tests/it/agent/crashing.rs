//! Attempts whose process dies.

use unstuck_core::attempt::ToolKind;
use unstuck_core::engine::Event;
use unstuck_world::fake::server::FakeScript;

use crate::agent::model_project::Stage;
use crate::agent::wire::{check, done, read, results, run, write};

// B12: between a call and its result.
#[tokio::test]
async fn the_next_attempt_knows_what_may_have_happened() {
    let script = FakeScript::new(
        [write("src/greeting", "Hi\n"), run("echo once >> src/log; sleep 600")],
        done(),
    );
    let mut stage = Stage::new(script).await;
    stage.sees(|event| matches!(event, Event::ToolCalled { tool: ToolKind::Command, .. })).await;
    let mut stage = stage.crash().await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    assert_eq!(asked.len(), 3, "nothing is asked twice");
    check(&asked[2]);
    let last = results(&asked[2]);
    assert!(
        last[0].1.starts_with("no result is known: it may have taken effect") && last[0].2,
        "{last:?}"
    );
    assert_eq!(asked[2].as_array().unwrap().len(), 5, "the whole conversation");
    assert_eq!(stage.file(0, "src/greeting"), "Hi\n");
    assert_eq!(stage.faults(), []);
}

#[tokio::test]
async fn a_round_that_is_over_is_never_done_again() {
    let script = FakeScript::new([read("src/greeting"), run("sleep 600")], done());
    let mut stage = Stage::new(script).await;
    stage.sees(|event| matches!(event, Event::ToolCalled { tool: ToolKind::Command, .. })).await;
    let mut stage = stage.crash().await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    let rounds = |asked: &serde_json::Value| {
        // Where the other side's cache ends moves on with the conversation.
        let told = asked.as_array().unwrap()[..3].iter().map(ToString::to_string);
        told.map(|one| one.replace(r#""cache_control":{"type":"ephemeral"},"#, ""))
            .collect::<Vec<_>>()
    };
    assert_eq!(rounds(&asked[2]), rounds(&asked[1]));
}
