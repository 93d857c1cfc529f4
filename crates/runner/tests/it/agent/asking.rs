//! When a person is needed.

use serde_json::json;
use unstuck_core::engine::{Event, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::policy::Policy;
use unstuck_core::question::Decision;
use unstuck_world::fake::server::{FakeAnswer, FakeScript};

use crate::agent::model_project::Stage;
use crate::agent::wire::{check, done, text, write};

// T2.4, T2.3, TX3: one waits, the other goes on, and the answer brings the first back.
#[tokio::test]
async fn a_question_parks_its_task_while_another_goes_on() {
    let ask = FakeAnswer::with_call("ask_human", &json!({"question": "Formal or friendly?"}));
    let scripts = [
        ("a", FakeScript::new([ask], done())),
        ("b", FakeScript::new([write("src/other", "x\n")], done())),
    ];
    let mut stage = Stage::with(Policy::default(), scripts).await;
    stage
        .wait_until(|state| {
            let is = |name: &str, wanted: fn(&TaskState) -> bool| {
                state.tasks().any(|task| task.spec.name == name && wanted(&task.state))
            };
            is("a", |state| matches!(state, TaskState::Parked { .. }))
                && is("b", |state| *state == TaskState::Done)
        })
        .await;
    assert_eq!(stage.faults(), [Code::PreconditionInput]);
    let question = stage.asked().await;
    stage.answer(question, Decision::ProvideGuidance, "Friendly, please.").await;
    stage.completed().await;
    let last = stage.asked_of("a").pop().unwrap();
    assert!(text(&last).contains("Friendly, please."), "{last}");
    check(&last);
}

#[tokio::test]
async fn a_task_that_cannot_be_done_says_so() {
    let blocked =
        FakeAnswer::with_call("task_blocked", &json!({"reason": "There is no such page."}));
    let mut stage = Stage::new(FakeScript::from(blocked)).await;
    stage.asked().await;
    let said = stage.happened().iter().any(|event| {
        matches!(event, Event::FaultMet { fault, .. } if fault.message == "There is no such page.")
    });
    assert!(said);
}
