//! Inside a task: what the agent says goes to its run, and what it declares runs after the checks.

use std::sync::Arc;

use serde_json::json;
use unstuck_core::engine::{
    Command, EffectKind, Event, Mutation, MutationState, SkipReason, State, TaskState,
};
use unstuck_core::fault::{Code, Kind};
use unstuck_core::question::Decision;
use unstuck_runner::RunnerNotice;

use super::agent_build::{SECRET, Stage, forged};
use super::client::said;

/// What came of every action but the merge that was applied.
async fn published(stage: &Stage) -> Vec<String> {
    let result = |action: &Mutation| match &action.state {
        MutationState::Applied { result } if action.spec.key == "publish" => {
            Some(result.to_string())
        }
        _ => None,
    };
    stage.look(move |state| state.mutations().filter_map(result).collect()).await
}

#[tokio::test]
async fn an_agent_tells_declares_and_says_that_it_is_done() {
    let stage = Stage::start(&["echo red > colour; unstuck mcp < $HERE/in > $HERE/out"]).await;
    let publish = json!({"key": "publish", "action": {"kind": "command", "secrets": ["TOKEN"],
        "command": "printf %s ${#TOKEN}"}});
    let other = json!({"key": "other", "action": {"kind": "command", "secrets": ["OTHER"],
        "command": "true"}});
    let calls = [
        ("narrate", json!({"text": format!("I paint it red with {SECRET}.")})),
        ("mutate", publish),
        ("mutate", other),
        ("task_done", json!({"summary": "It is red."})),
    ];
    stage.let_go(&calls).await;
    stage.wait_until_quiet().await;
    assert_eq!(stage.task_states().await, [TaskState::Done]);
    let said = said(&stage.wrote("out"));
    assert_eq!(said[0], ("said.".to_owned(), false));
    assert!(said[1].0.contains(r#""state":"declared""#) && !said[1].1, "{said:?}");
    assert!(said[2].0.contains("OTHER may not be named") && said[2].1, "{said:?}");
    assert!(said[3].0.contains("checked when you have ended") && !said[3].1, "{said:?}");
    assert_eq!(stage.narrated().await, ["I paint it red with [redacted].", "It is red."]);
    let length = SECRET.len().to_string();
    assert_eq!(published(&stage).await, [length], "it ran after the checks, with its secret");
}

// TX6: in the agent's shell it is declared as with the tool.
#[tokio::test]
async fn an_action_in_the_agents_shell_is_declared_and_runs_once_after_the_checks() {
    let line = "echo red > colour; for n in 1 2; do unstuck mutate --key publish -- sh -c 'echo out' \
                >> $HERE/told; echo $? >> $HERE/told; done";
    let stage = Stage::start(&[line]).await;
    stage.let_go(&[]).await;
    stage.wait_until_quiet().await;
    assert_eq!(stage.task_states().await, [TaskState::Done]);
    let told = stage.wrote("told");
    assert_eq!(told.matches("is declared. Nothing has run yet").count(), 2, "{told}");
    assert_eq!(told.matches("\n0\n").count(), 2, "{told}");
    assert!(!told.contains("out\n"), "{told}");
    assert_eq!(published(&stage).await, ["out\n"], "once, after the checks");
}

#[tokio::test]
async fn a_question_parks_the_task_and_the_answer_takes_it_on() {
    let ask = "test -e $HERE/asked || { touch $HERE/asked; unstuck mcp < $HERE/in > $HERE/out; }";
    let stage = Stage::start(&[ask, "echo blue > colour"]).await;
    let asked = json!({"question": "Which colour?", "options": ["red", "blue"]});
    stage.let_go(&[("ask_human", asked)]).await;
    let asked = stage.wait_for_question().await;
    assert_eq!(asked.code(), Some(Code::PreconditionInput));
    let Kind::PreconditionInput(input) = &asked.fault.as_ref().unwrap().kind else {
        panic!("{asked:?}")
    };
    assert_eq!((input.asked.as_str(), input.options.len()), ("Which colour?", 2));
    assert!(matches!(stage.task_states().await[..], [TaskState::Parked { .. }]));
    stage.answer(Decision::ProvideGuidance, Some("Blue.")).await;
    stage.wait_until_quiet().await;
    assert_eq!(stage.task_states().await, [TaskState::Done]);
}

#[tokio::test]
async fn what_cannot_be_done_is_a_question_and_a_stated_failure_has_its_code() {
    for (tool, input, code) in [
        ("task_blocked", json!({"reason": "The shop has no door."}), Code::PreconditionInput),
        (
            "report_failure",
            json!({"code": "AUTH_EXPIRED", "message": "log in again"}),
            Code::AuthExpired,
        ),
    ] {
        let stage =
            Stage::start(&["unstuck mcp < $HERE/in > $HERE/out; read line < $HERE/never"]).await;
        stage.let_go(&[(tool, input)]).await;
        let asked = stage.wait_for_question().await;
        assert_eq!(asked.code(), Some(code), "{tool}");
    }
}

// T4.13: the agent does not go on, and its work is taken back.
#[tokio::test]
async fn an_agent_that_says_a_change_was_not_allowed_is_stopped() {
    let line = "echo red > colour; unstuck mcp < $HERE/in > $HERE/out; read line < $HERE/never";
    let stage = Stage::start(&[line]).await;
    let denied = json!({"code": "SCOPE_USER_DENIED", "message": "they said no"});
    stage.let_go(&[("report_failure", denied)]).await;
    stage.wait_until_quiet().await;
    assert_eq!(stage.task_states().await, [TaskState::Skipped { left: SkipReason::Denied }]);
    let (said, failed) = &said(&stage.wrote("out"))[0];
    assert!(said.contains("taken back") && said.ends_with("Stop here.") && !failed, "{said}");
    assert_eq!(stage.look(|state| state.questions().count()).await, 0);
}

// B18: a token reports for its run only, and what it declares is held to the settings.
#[tokio::test]
async fn an_action_that_was_put_together_by_hand_gets_no_secret_that_it_may_not_name() {
    let stage = Stage::start(&["echo red > colour"]).await;
    let attempt = |state: &State| {
        let owed = state.outstanding_effects().into_iter();
        owed.filter(|effect| matches!(effect.what, EffectKind::Attempt { .. })).map(|e| e.id).next()
    };
    stage.wait_until(move |state| attempt(state).is_some()).await;
    let effect = stage.look(attempt).await.unwrap();
    stage.submit(Command::Mutate { effect, mutation: forged() }).await;
    let mut notices = stage.handle.subscribe_notices();
    stage.let_go(&[]).await;
    let fault = loop {
        if let Ok(RunnerNotice::Event { recorded, .. }) = notices.recv().await
            && let Event::FaultMet { fault, .. } = &recorded.event
        {
            break Arc::clone(fault);
        }
    };
    assert!(fault.message.contains("OTHER may not be named"), "{fault}");
    assert!(!stage.path("stolen").exists());
}
