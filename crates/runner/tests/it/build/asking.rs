//! Changes and commands that only a person can allow.

use unstuck_core::attempt::ToolKind;
use unstuck_core::engine::{SkipReason, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_testkit::stage::TestRepo;
use unstuck_world::agent::Denial;
use unstuck_world::fake::server::FakeScript;

use crate::build::build_project::{Set, Stage};
use crate::build::scripts::{Job, Mind, run, write};
use crate::build::wire;

async fn asked() -> Stage {
    let steps = [write("Cargo.toml", "new\n"), write("src.rs", "x\n")];
    let job = Job::new("a", [&steps]).ask_first(&["Cargo.toml"]);
    let stage = Stage::build(TestRepo::with(&[("Cargo.toml", "old\n")]), vec![job]).await;
    let question = stage.wait_for_question().await;
    assert_eq!(question.kind, QuestionKind::Ok);
    assert_eq!(question.fault.unwrap().code(), Code::PermissionFileAccess);
    let there = std::fs::read_to_string(stage.worktree("a").join("Cargo.toml")).unwrap();
    assert_eq!(there, "new\n", "the edit stays until the answer");
    assert_eq!(
        stage.repo.git(["rev-parse", &Stage::branch()]),
        stage.repo.git(["rev-parse", "main"])
    );
    stage
}

// TX14
#[tokio::test]
async fn what_a_person_allows_goes_through() {
    let stage = asked().await;
    stage.answer(Decision::AllowOnce, None).await;
    stage.done().await;
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["Cargo.toml", "src.rs"]);
    assert_eq!(stage.assignments("a").len(), 1, "no agent had to do it again");
}

// T4.13, TX14
#[tokio::test]
async fn what_a_person_denies_is_taken_back_and_the_task_is_left_out() {
    let stage = asked().await;
    stage.answer(Decision::Deny, None).await;
    let tasks = stage.ended().await;
    assert_eq!(tasks["a"], TaskState::Skipped { left: SkipReason::Denied });
    let there = std::fs::read_to_string(stage.worktree("a").join("Cargo.toml")).unwrap();
    assert_eq!(there, "old\n");
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::PermissionFileAccess, Code::ScopeUserDenied]);
    let consecutive = stage.look(|s| s.tasks().map(|t| t.counters.consecutive).max()).await;
    assert_eq!(consecutive, Some(0));
    assert_eq!(
        stage.repo.git(["rev-parse", &Stage::branch()]),
        stage.repo.git(["rev-parse", "main"])
    );
}

// What was allowed for one file is not allowed for the next one like it.
#[tokio::test]
async fn allowing_one_file_allows_no_other() {
    let allow = |name, file: &str| Job::new(name, [&[write(file, "x\n")]]).ask_first(&["m/*"]);
    let jobs = vec![allow("a", "m/0001.sql"), allow("b", "m/0002.sql").after("a")];
    let stage = Stage::build(TestRepo::with(&[]), jobs).await;
    stage.answer(Decision::AlwaysAllow, None).await;
    let question = stage.wait_for_question().await;
    assert!(question.fault.unwrap().message.contains("0002"));
    stage.answer(Decision::AllowOnce, None).await;
    stage.done().await;
}

fn denying() -> Set {
    let denial = Denial { tool: ToolKind::Command, what: "npm install".to_owned() };
    Set { denials: vec![denial], ..Set::default() }
}

// T4.18: a denial is a fault only when the work does not pass.
#[tokio::test]
async fn a_denied_command_matters_only_when_the_work_does_not_pass() {
    let job = Job::new("a", [&[write("a.txt", "x\n")]]).checked("true");
    let stage = Stage::with(denying(), TestRepo::with(&[]), vec![job]).await;
    stage.done().await;
    assert_eq!(stage.faults().await.len(), 0);

    let failing = Job::new("a", [&[write("a.txt", "x\n")]])
        .checked("test ! -e a.txt || { echo 'error: no'; exit 1; }");
    let idle = Job::new("a", [&[run("true")]]);
    for job in [failing, idle] {
        let stage = Stage::with(denying(), TestRepo::with(&[]), vec![job]).await;
        let fault = stage.wait_for_question().await.fault.unwrap();
        assert_eq!(fault.code(), Code::PermissionCommandBlocked);
        assert!(fault.message.contains("npm install"), "{}", fault.message);
        assert_eq!(stage.faults().await.len(), 1, "no counter moved for the red check");
    }
}

// Checks do not see that an action is missing.
#[tokio::test]
async fn a_declaration_that_was_denied_is_asked_about_when_the_work_passes() {
    let what = "unstuck mutate --key pay-1 -- pay 1".to_owned();
    let denials = vec![Denial { tool: ToolKind::Command, what }];
    let job = Job::new("a", [&[write("a.txt", "x\n")]]).checked("true");
    let set = Set { denials, ..Set::default() };
    let stage = Stage::with(set, TestRepo::with(&[]), vec![job]).await;
    let fault = stage.wait_for_question().await.fault.unwrap();
    assert_eq!(fault.code(), Code::PermissionCommandBlocked);
    assert!(fault.message.contains("--key pay-1"), "{}", fault.message);
    stage.answer(Decision::AllowOnce, None).await;
    stage.done().await;
    assert_eq!(stage.assignments("a").len(), 2, "the agent goes on and may declare it");
}

// T4.18: the agent goes on and may run it now; what is allowed for good, the next task may at once.
#[tokio::test]
async fn a_command_that_a_person_allows_may_be_run_by_the_next_attempt() {
    for (decision, asked_again) in [(Decision::AllowOnce, true), (Decision::AlwaysAllow, false)] {
        let idle = |name| Job::new(name, [&[run("true")]]);
        let jobs = vec![idle("a"), idle("b").after("a")];
        let stage = Stage::with(denying(), TestRepo::with(&[]), jobs).await;
        stage.answer(decision, None).await;
        if asked_again {
            stage.assigned("b", 1).await;
            stage.answer(decision, None).await;
        }
        stage.done().await;
        let allowed = |name| {
            let told = stage.assignments(name);
            told.iter()
                .map(|told| told.allowed_commands.contains("npm install"))
                .collect::<Vec<_>>()
        };
        // Once more each, because they change nothing.
        assert_eq!(allowed("a"), [false, true, true], "{decision}");
        let b = if asked_again { vec![false, true, true] } else { vec![true, true] };
        assert_eq!(allowed("b"), b);
        let again = &stage.assignments("a")[1];
        assert!(again.thread.is_some() && again.prompt.contains("You may do it"), "{again:?}");
    }
}

// T4.18: the same for a model and our own tools.
#[tokio::test]
async fn a_command_that_a_person_allows_a_model_runs() {
    let touch = wire::run("touch deployed && echo done");
    let mind = Mind::anthropic(FakeScript::new([touch.clone(), touch], wire::done())).await;
    let set = Set { blocked: vec!["touch".to_owned()], ..Set::default() };
    let stage = Stage::with(set, TestRepo::with(&[]), vec![Job::thought_out("a", &mind)]).await;
    stage.answer(Decision::AllowOnce, None).await;
    stage.done().await;
    let asked = mind.asked();
    assert_eq!(asked.len(), 3);
    assert!(wire::results(&asked[1])[0].1.starts_with("PERMISSION_COMMAND_BLOCKED"));
    assert!(wire::text(&asked[1]).contains("You may do it"), "{}", wire::text(&asked[1]));
    assert_eq!(wire::results(&asked[2])[0].1, "done");
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["deployed"]);
}
