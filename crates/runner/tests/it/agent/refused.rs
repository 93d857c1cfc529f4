//! Requests of the agent that are not allowed.

use serde_json::json;
use unstuck_core::engine::TaskState;
use unstuck_core::fault::Code;
use unstuck_core::question::Decision;
use unstuck_world::fake::server::{FakeAnswer, FakeScript};

use crate::agent::model_project::Stage;
use crate::agent::wire::{check, done, results, run, write};

// TX14, T4.18: it becomes a question, and nothing is done in silence.
#[tokio::test]
async fn a_blocked_command_becomes_a_question() {
    let mut stage = Stage::new(FakeScript::new([run("rm -rf ~")], done())).await;
    let question = stage.asked().await;
    assert_eq!(stage.faults(), [Code::PermissionCommandBlocked]);
    assert!(stage.look(|s| s.tasks().all(|t| matches!(t.state, TaskState::Parked { .. }))).await);
    assert_eq!(stage.asked_of("a").len(), 1);
    stage.answer(question, Decision::ProvideGuidance, "").await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    check(&asked[1]);
    let result = &results(&asked[1])[0].1;
    assert!(
        result.starts_with(Code::PermissionCommandBlocked.as_str()),
        "how it came out is known"
    );
}

// TX14: no answer of a person could open it, so the agent is told and goes on.
#[tokio::test]
async fn a_path_outside_is_refused_to_the_agent_and_no_question_is_asked() {
    for wish in [
        FakeAnswer::with_call("read_file", &json!({"path": "../../../outside"})),
        write("/tmp/outside", "x"),
    ] {
        let mut stage = Stage::new(FakeScript::new([wish], done())).await;
        stage.completed().await;
        assert!(stage.faults().is_empty());
        let asked = stage.asked_of("a");
        check(&asked[1]);
        let result = &results(&asked[1])[0].1;
        assert!(result.contains("outside") && result.contains("inside the worktree"), "{result}");
    }
}

// TX7: outside the fence is the work's mistake, not a person's matter.
#[tokio::test]
async fn a_file_outside_the_fence_is_not_written() {
    let mut stage = Stage::new(FakeScript::new([write("README", "x")], done())).await;
    stage.completed().await;
    assert_eq!(stage.faults(), [Code::ScopeOutsideAllowed]);
}

// B16
#[tokio::test]
async fn the_third_push_is_a_question() {
    let mut stage = Stage::new(FakeScript::from(run("git push origin HEAD"))).await;
    stage.asked().await;
    let asked = stage.asked_of("a");
    assert_eq!(asked.len(), 3);
    for at in [1, 2] {
        assert!(results(&asked[at])[0].1.contains("unstuck mutate"));
    }
    assert_eq!(stage.faults(), [Code::PermissionCommandBlocked]);
}
