//! Asking: parked together, answered once, and everything else goes on.

use std::sync::Arc;

use unstuck_core::engine::{
    BuildState, Command, CommandRejection, EffectKind, PauseCause, Rule, Start, Status, Subject,
    TaskState,
};
use unstuck_core::fault::{Class, Code, Fault, Permission};
use unstuck_core::plan::Plan;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::tell::question_text;

use crate::engine::story::{Stage, fault, happened, named, needing, task};

fn answer(question: u32, decision: Decision) -> Command {
    let question = unstuck_core::engine::QuestionId(question);
    Command::Answer { question, decision, guidance: None, by: Arc::from("ben") }
}

// T1.4, T3.1, T3.6, T3.15, T4.8, T4.18, I2
#[test]
fn what_cannot_be_retried_asks_at_its_first_occurrence_and_moves_no_counter() {
    for &code in Code::ALL {
        let row = code.row();
        let Some(kind) = QuestionKind::from_asks(row.asks) else { continue };
        if row.class != Class::NeverRetry || kind == QuestionKind::Paused {
            continue;
        }
        let mut stage = Stage::tasks(&["a", "b"]);
        let before = stage.state.task(stage.id("a")).unwrap().counters;
        stage.fails("a", fault(code, "no"));
        let question = stage.question();
        assert_eq!((question.kind, question.code()), (kind, Some(code)));
        assert_eq!(question.why.rule, Rule::NeverRetried);
        assert!(question.attempts.len() <= 1, "{code}: no attempts that never were");
        assert_eq!(stage.state.task(stage.id("a")).unwrap().counters, before, "{code}");
        assert_eq!(stage.state.signatures().count(fault(code, "no").signature), 0);
        // T1.3, T2.4: the other task goes on.
        stage.succeed("b");
        assert!(stage.state.builds().all(|build| build.state == BuildState::Waiting));
    }
}

// T0.13
#[test]
fn a_paused_run_goes_on_under_its_id_and_where_it_was() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::AuthExpired, "log in"));
    let run = stage.state.runs().next().unwrap();
    assert_eq!(run.status, Status::PausedApproval);
    let run = run.id;
    stage.answer(Decision::ProvideCredentials);
    assert_eq!(stage.owed("a").run, run);
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Resume });
}

// T3.16, T3.5
#[test]
fn our_own_fault_starts_over_in_a_new_worktree() {
    let mut stage = Stage::tasks(&["a"]);
    let events = stage.fails("a", fault(Code::InternalError, "bug"));
    let failed = named(&events, "run.failed").next().unwrap();
    let json = serde_json::to_value(failed).unwrap();
    assert_eq!(json["data"]["status"], "failed:internal");
    assert_eq!(stage.question().kind, QuestionKind::Ours);
    stage.answer(Decision::TryAgain);
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::NewWorktree });
}

// TX4
#[test]
fn an_answer_outside_the_options_is_refused_and_a_second_answer_too() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::AuthMissing, "no key"));
    let id = stage.question().id;
    let decision = Decision::Deny;
    assert_eq!(
        stage.try_to(answer(0, decision)),
        Err(CommandRejection::NotAnOption { question: id, decision })
    );
    stage.answer(Decision::ProvideCredentials);
    assert_eq!(
        stage.try_to(answer(0, Decision::ProvideCredentials)),
        Err(CommandRejection::Answered(id))
    );
    let absent = unstuck_core::engine::QuestionId(9);
    assert_eq!(
        stage.try_to(answer(9, Decision::SkipFeature)),
        Err(CommandRejection::NoQuestion(absent))
    );
}

#[test]
fn leaving_a_task_out_leaves_out_what_needs_it_and_nothing_else() {
    let mut stage = Stage::new();
    stage.build(vec![task("a"), needing("b", &["a"]), needing("c", &["b"]), task("d")]);
    stage.fails("a", fault(Code::AuthInvalid, "no"));
    stage.answer(Decision::SkipFeature);
    for name in ["a", "b", "c"] {
        assert!(matches!(stage.task_state(name), TaskState::Skipped { .. }), "{name}");
    }
    stage.succeed("d");
    let build = stage.state.builds().next().unwrap();
    assert_eq!(build.state, BuildState::Completed);
    // Retrying revives them all.
    let id = stage.id("a");
    stage.must(Command::Retry { task: id });
    for name in ["a", "b", "c"] {
        stage.succeed(name);
    }
    assert!(stage.state.builds().all(|build| build.state == BuildState::Completed));
}

#[test]
fn only_a_dependant_that_has_not_ended_waits_too() {
    for (cancelled, waiting) in [(false, "1 task that needs it waits too."), (true, "")] {
        let mut stage = Stage::new();
        let build = stage.build(vec![task("a"), needing("b", &["a"])]);
        if cancelled {
            stage.must(Command::Cancel { build });
            let task = stage.id("a");
            stage.must(Command::Retry { task });
            assert!(stage.task_state("b").has_ended(), "{:?}", stage.task_state("b"));
        }
        stage.fails("a", fault(Code::AuthInvalid, "no"));
        let problem = question_text(&stage.state, stage.question(), stage.now).problem;
        assert_eq!(problem.contains("waits too"), !cancelled, "{problem}");
        assert!(problem.contains(waiting), "{problem}");
    }
}

#[test]
fn a_question_that_is_not_needed_any_more_is_withdrawn() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.fails("a", fault(Code::AuthInvalid, "no"));
    let question = stage.question().id;
    let id = stage.id("a");
    let events = stage.must(Command::Skip { task: id });
    assert!(happened(&events, "question.withdrawn"));
    assert_eq!(
        stage.try_to(answer(question.0, Decision::SkipFeature)),
        Err(CommandRejection::Withdrawn(question))
    );
}

// T4.13, TX14
#[test]
fn what_a_person_does_not_allow_is_taken_back_and_the_task_left_out() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::PermissionFileAccess, "ask first"));
    stage.answer(Decision::Deny);
    assert_eq!(stage.owed("a").what, EffectKind::TakeBack);
    let events = stage.done("a");
    assert!(happened(&events, "run.cancelled"));
    assert!(matches!(stage.task_state("a"), TaskState::Skipped { .. }));
}

// The choice to leave files as they were needs no agent; what a person writes does.
#[test]
fn a_persons_own_words_about_changed_files_lead_to_an_attempt() {
    let resumed = EffectKind::Attempt { start: Start::Resume };
    let cases = [
        (None, EffectKind::Check),
        (Some("Leave ci.yml as it was. Reach the goal without it."), EffectKind::Check),
        (Some("Leave ci.yml as it was. Reach the goal without it. And say ciao."), resumed),
    ];
    for (words, owed) in cases {
        let mut stage = Stage::tasks(&["a"]);
        stage.attempt("a");
        let context = Permission { what: "ci.yml".to_owned(), ..Permission::default() };
        stage.fails("a", Fault::permission_file_access("scope", "ci.yml", context));
        let id = stage.question().id;
        stage.answer_to(id, Decision::ProvideGuidance, words);
        assert_eq!(stage.owed("a").what, owed, "{words:?}");
    }
}

#[test]
fn what_a_person_allows_is_allowed_once_or_for_good() {
    for (decision, for_others) in [(Decision::AllowOnce, false), (Decision::AlwaysAllow, true)] {
        let mut stage = Stage::tasks(&["a", "b"]);
        let blocked = fault(Code::PermissionCommandBlocked, "rm");
        let signature = blocked.signature;
        stage.fails("a", blocked);
        stage.answer(decision);
        assert!(stage.state.allows_signature(stage.id("a"), signature));
        assert_eq!(stage.state.allows_signature(stage.id("b"), signature), for_others);
        stage.red("a", "boom");
        assert_eq!(
            stage.state.allows_signature(stage.id("a"), signature),
            for_others,
            "{decision}"
        );
    }
}

// T4.18: what was denied can be done now, so the agent works again before anything is checked.
#[test]
fn a_denied_command_that_is_allowed_is_handed_to_the_agent_that_goes_on() {
    for (decision, for_others) in [(Decision::AllowOnce, false), (Decision::AlwaysAllow, true)] {
        let mut stage = Stage::tasks(&["a", "b"]);
        let commands = vec!["npm install".to_owned()];
        let context =
            Permission { what: "npm install".to_owned(), commands, ..Permission::default() };
        let denied = Fault::permission_command_blocked("agent", "npm install", context);
        stage.attempt("a");
        stage.fails("a", denied);
        stage.answer(decision);
        assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Resume });
        let may = |stage: &Stage, name| {
            stage.state.allowed_commands(stage.id(name)).contains("npm install")
        };
        assert_eq!((may(&stage, "a"), may(&stage, "b")), (true, for_others));
        stage.red("a", "boom");
        assert_eq!(may(&stage, "a"), for_others, "once is for the run that goes on");
    }
}

#[test]
fn in_the_users_own_tree_one_task_runs_at_a_time() {
    let mut stage = Stage::new();
    let plan = Arc::new(Plan::new(vec![task("a"), task("b")]).unwrap());
    stage.must(Command::StartBuild { plan, slots: 4, in_place: true });
    assert!(stage.owed_if_any("a").is_some() && stage.owed_if_any("b").is_none());
}

fn five_questions(stage: &mut Stage) {
    for (name, error) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] {
        let events = stage.fails(name, fault(Code::AuthInvalid, error));
        assert!(!happened(&events, "agent.build_paused"), "{name}");
    }
    let events = stage.fails("e", fault(Code::AuthInvalid, "5"));
    assert_eq!(named(&events, "agent.build_paused").count(), 1);
}

fn the_pause(stage: &Stage) -> unstuck_core::engine::QuestionId {
    let build = stage.state.builds().next().unwrap().id;
    stage.state.question_about(Subject::Build(build)).unwrap().id
}

// T1.5, T1.14, T0.14, T1.12
#[test]
fn five_distinct_open_questions_pause_the_build_once() {
    let mut stage = Stage::tasks(&["a", "b", "c", "d", "e", "f"]);
    five_questions(&mut stage);
    let build = stage.state.builds().next().unwrap();
    assert_eq!(build.state, BuildState::Paused { cause: PauseCause::Questions });
    assert!(stage.owed_if_any("f").is_none(), "its agent was stopped");
    assert_eq!(stage.state.questions().count(), 6);
    // An answer brings them under five: the build goes on by itself.
    stage.answer_to(unstuck_core::engine::QuestionId(0), Decision::ProvideCredentials, None);
    assert!(stage.owed_if_any("f").is_some());
    assert!(stage.owed_if_any("a").is_some());
    assert_eq!(stage.state.questions().count(), 4);
}

// TX2
#[test]
fn one_error_in_many_tasks_is_one_question_and_no_pause() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut stage = Stage::tasks(&names);
    for name in names {
        stage.fails(name, fault(Code::AuthInvalid, "the same"));
    }
    assert_eq!(stage.question().tasks.len(), 6);
    assert!(stage.state.builds().all(|build| build.state == BuildState::Waiting));
    let events = stage.answer(Decision::ProvideCredentials);
    assert_eq!(named(&events, "task.unparked").count(), 6);
}

#[test]
fn continuing_allows_five_more() {
    let mut stage = Stage::tasks(&["a", "b", "c", "d", "e", "f", "g"]);
    five_questions(&mut stage);
    let pause = the_pause(&stage);
    stage.answer_to(pause, Decision::Continue, None);
    assert!(stage.owed_if_any("f").is_some());
    let events = stage.fails("f", fault(Code::AuthInvalid, "6"));
    assert!(!happened(&events, "agent.build_paused"));
    stage.succeed("g");
}

#[test]
fn stopping_ends_the_build_and_its_questions() {
    let mut stage = Stage::tasks(&["a", "b", "c", "d", "e", "f"]);
    five_questions(&mut stage);
    let pause = the_pause(&stage);
    stage.answer_to(pause, Decision::Stop, None);
    assert_eq!(stage.state.questions().count(), 0);
    assert!(stage.state.builds().all(|build| build.state == BuildState::Cancelled));
    assert!(stage.state.tasks().all(|task| task.state == TaskState::Cancelled));
}

// TX3
#[test]
fn an_agents_own_question_is_answered_where_it_stood() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::PreconditionInput, "which database?"));
    assert_eq!(stage.question().kind, QuestionKind::Choice);
    let id = stage.question().id;
    stage.answer_to(id, Decision::ProvideGuidance, Some("PostgreSQL"));
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Resume });
}
