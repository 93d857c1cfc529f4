//! Going on after a wait or a crash: the same worktree and the same conversation.

use unstuck_core::engine::{Command, Event, State, TaskState};
use unstuck_core::plan::GateKey;
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::Stage;
use crate::build::fifo::Fifo;
use crate::build::scripts::{Job, run, write};

fn limited(wait_s: Option<u64>) -> String {
    let wait = wait_s.map(|wait| format!(", retry_after_s = {wait}")).unwrap_or_default();
    format!("{{ fail = \"PROVIDER_RATE_LIMIT\", message = \"slow down\"{wait} }}")
}

pub(crate) fn waiting(state: &State) -> usize {
    let waits = |state: &TaskState| matches!(state, TaskState::BackingOff { gate: Some(_), .. });
    state.tasks().filter(|task| waits(&task.state)).count()
}

// B2, B12, T4.9
#[tokio::test]
async fn one_limit_holds_both_tasks_of_an_account_and_both_go_on_where_they_were() {
    let repo = TestRepo::with(&[]);
    let gate = Fifo::new(&repo, "gate");
    let once = run(&format!("echo a >> {}", repo.beside("count").display()));
    let a = [write("a1", "1\n"), once, limited(Some(3_600)), run("cp a1 a2")];
    let b = [write("b1", "1\n"), gate.waits(), limited(None), run("cp b1 b2")];
    let jobs = vec![Job::new("a", [&a]), Job::new("b", [&b])];
    let stage = Stage::build(repo, jobs).await;
    stage.wait_until(|state| waiting(state) == 1).await;
    gate.let_go().await;
    stage.wait_until(|state| waiting(state) == 2).await;
    stage.submit(Command::KickGate { gate: GateKey(1) }).await;
    stage.done().await;
    let events = stage.events().await;
    let closed = events.iter().filter(|e| matches!(e.event, Event::GateWaiting { .. })).count();
    assert_eq!(closed, 1, "the account was limited once");
    for (name, thread) in [("a", "1:3"), ("b", "1:3")] {
        let told = stage.assignments(name);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].directory, told[1].directory);
        assert_eq!(told[1].thread.as_deref(), Some(thread));
        assert!(told[1].prompt.starts_with("This task was begun before."), "{}", told[1].prompt);
        assert!(!told[1].prompt.contains("FAILED"), "waiting is no failure: {}", told[1].prompt);
    }
    let count = std::fs::read_to_string(stage.repo.beside("count")).unwrap();
    assert_eq!(count, "a\n", "nothing was done twice");
    let files = stage.repo.git(["ls-tree", "--name-only", &Stage::branch()]);
    assert_eq!(files, "a1\na2\nb1\nb2");
}

// B12
#[tokio::test]
async fn after_a_crash_the_agent_goes_on_in_its_worktree_and_conversation() {
    let repo = TestRepo::with(&[]);
    let gate = Fifo::new(&repo, "gate");
    let once = run(&format!("echo a >> {}", repo.beside("count").display()));
    let steps = [write("one", "1\n"), once, gate.waits(), run("cp one two")];
    let stage = Stage::build(repo, vec![Job::new("a", [&steps])]).await;
    // The third call is noted after the second is remembered.
    stage.calls(3).await;
    let stage = stage.crash().await;
    // By then the old one is gone, and no other agent listens.
    stage.assigned("a", 2).await;
    gate.let_go().await;
    stage.done().await;
    let told = stage.assignments("a");
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].directory, told[1].directory);
    assert_eq!(told[1].thread.as_deref(), Some("1:2"));
    assert!(told[1].prompt.starts_with("This task was begun before."), "{}", told[1].prompt);
    let count = std::fs::read_to_string(stage.repo.beside("count")).unwrap();
    assert_eq!(count, "a\n", "nothing was done twice");
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["one", "two"]);
}
