//! What people and agents read is true of the very case: counts, names, and what goes on meanwhile.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Command, EffectOutcome, Event, Question};
use unstuck_core::fault::{Auth, Code, Fault, Timeout};
use unstuck_core::plan::JobSpec;
use unstuck_core::policy::Policy;
use unstuck_core::question::{Decision, QuestionText};
use unstuck_core::tell;

use crate::engine::story::{Stage, approach_no, fault, needing, red, task};

const CONTINUES: &str = " continues.";

fn read(stage: &Stage, question: &Question) -> QuestionText {
    tell::question_text(&stage.state, question, stage.now)
}

/// Everything a person reads of the newest question: the problem and what each choice leads to.
fn newest(stage: &Stage) -> String {
    let question = stage.state.questions().max_by_key(|question| question.id).unwrap();
    let text = read(stage, question);
    let options = text.options.iter().map(|option| option.description.clone());
    [text.problem].into_iter().chain(options).collect::<Vec<_>>().join("\n")
}

/// The agent fails without having done anything that could be told apart.
fn fails_at_once(stage: &mut Stage, name: &str, code: Code) {
    let approach = Some(Arc::new(Approach::default()));
    let fault = Arc::new(fault(code, "it said no"));
    stage.settle(name, EffectOutcome::Failed { fault, approach });
}

#[test]
fn other_work_goes_on_only_where_there_is_some() {
    let refused = || fault(Code::AuthInvalid, "the key was refused");
    let mut alone = Stage::tasks(&["a"]);
    alone.red("a", "boom");
    alone.fails("a", refused());
    assert!(!newest(&alone).contains(CONTINUES), "{}", newest(&alone));

    let mut beside = Stage::tasks(&["a", "b"]);
    beside.fails("a", refused());
    assert!(newest(&beside).contains(CONTINUES), "{}", newest(&beside));
    beside.succeed("b");
    assert!(!newest(&beside).contains(CONTINUES), "{}", newest(&beside));

    // What needs it waits as well.
    let mut needed = Stage::new();
    needed.build(vec![task("a"), needing("b", &["a"])]);
    needed.fails("a", refused());
    let said = newest(&needed);
    assert!(!said.contains(CONTINUES) && said.contains("1 task that needs it waits too"), "{said}");
}

#[test]
fn the_question_that_pauses_the_build_does_not_say_that_other_work_goes_on() {
    let mut stage = Stage::tasks(&["a", "b", "c", "d", "e", "f"]);
    for name in ["a", "b", "c", "d", "e"] {
        stage.fails(name, fault(Code::AuthInvalid, name));
    }
    let fifth = stage.state.questions().find(|question| question.tasks == [stage.id("e")]).unwrap();
    let text = read(&stage, fifth);
    assert!(!text.problem.contains(CONTINUES), "{}", text.problem);
    assert!(text.problem.contains("The build is paused"), "{}", text.problem);
}

#[test]
fn a_job_that_waits_says_nothing_of_other_work_where_there_is_none() {
    let mut stage = Stage::new();
    stage.job("nightly", JobSpec::default());
    stage.fails("nightly", fault(Code::AuthInvalid, "the key was refused"));
    assert!(!newest(&stage).contains(CONTINUES), "{}", newest(&stage));
}

#[test]
fn attempts_that_did_nothing_are_no_different_ways() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..4 {
        fails_at_once(&mut stage, "a", Code::LogicError);
    }
    let said = newest(&stage);
    assert!(said.contains("I tried it four times, and it failed each time."), "{said}");
    assert!(!said.contains("different ways"), "{said}");
}

#[test]
fn attempts_that_were_refused_are_no_different_ways() {
    let mut stage = Stage::tasks(&["a"]);
    for approach in [7, 8, 7, 7] {
        stage.attempt_as("a", approach);
        if stage
            .owed_if_any("a")
            .is_some_and(|owed| owed.what == unstuck_core::engine::EffectKind::Check)
        {
            let approach = Some(Arc::new(approach_no(approach)));
            stage.settle("a", EffectOutcome::Failed { fault: Arc::new(red("boom")), approach });
        }
    }
    let said = newest(&stage);
    assert!(said.contains("I tried it four times, in two different ways"), "{said}");
}

#[test]
fn a_task_is_called_by_its_title_in_what_a_choice_leads_to() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.fails("a", fault(Code::AuthInvalid, "the key was refused"));
    let said = newest(&stage);
    assert!(said.contains("I skip “Task a”."), "{said}");
    assert!(!said.contains("this task"), "{said}");
}

#[test]
fn an_answer_is_told_with_the_persons_own_words() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::PreconditionInput, "with tax?"));
    let question = stage.question().id;
    stage.answer_to(question, Decision::ProvideGuidance, Some("with tax, as `net_total()` does"));
    let told = stage.journal.iter().filter_map(|r| tell::narrate_event(&stage.state, r));
    let told: Vec<String> = told.collect();
    assert!(told.iter().any(|said| said.contains("“with tax, as `net_total()` does”")), "{told:?}");
}

#[test]
fn a_tree_without_changes_is_not_said_to_hold_any() {
    let mut stage = Stage::tasks(&["a"]);
    fails_at_once(&mut stage, "a", Code::LogicNoProgress);
    let told = tell::replan_context(&stage.state, &Policy::default(), stage.owed("a").run).unwrap();
    assert!(!told.contains("your changes are still there"), "{told}");
}

#[test]
fn a_refused_key_names_the_service_and_the_variable() {
    let mut stage = Stage::tasks(&["a"]);
    let auth = Auth {
        account: "claude-cli".to_owned(),
        variable: Some("ANTHROPIC_API_KEY".to_owned()),
        ..Auth::default()
    };
    stage.fails("a", Fault::auth_invalid("claude-cli", "401", auth));
    let text = read(&stage, stage.question());
    assert!(text.problem.contains("Anthropic refused the key"), "{}", text.problem);
    assert!(text.problem.contains("“ANTHROPIC_API_KEY”"), "{}", text.problem);

    let mut stage = Stage::tasks(&["a"]);
    let login = Some("claude login".to_owned());
    let auth = Auth { account: "claude-cli".to_owned(), login, ..Auth::default() };
    stage.fails("a", Fault::auth_invalid("claude-cli", "401", auth));
    let text = read(&stage, stage.question());
    assert!(text.problem.contains("Anthropic refused the login"), "{}", text.problem);
    assert!(text.recommended_text.contains("“claude login”"), "{}", text.recommended_text);
}

#[test]
fn a_question_about_a_deadline_shows_the_command_and_its_last_lines() {
    let mut stage = Stage::tasks(&["a"]);
    let limit = Timeout { operation: "sh sync.sh".to_owned(), limit_ms: 1_000 };
    let message = "sh sync.sh took longer than 1 s\nfetching page 7";
    let fault = Arc::new(Fault::operation_timeout("script", message, limit));
    while stage.state.questions().next().is_none() {
        let fault = Arc::clone(&fault);
        stage.settle("a", EffectOutcome::Failed { fault, approach: None });
        if stage.owed_if_any("a").is_none() && stage.state.questions().next().is_none() {
            stage.wait();
        }
    }
    let evidence = tell::collect_evidence(&stage.state, stage.question());
    assert_eq!(evidence.command.as_deref(), Some("sh sync.sh"));
    assert!(evidence.output.contains("fetching page 7"), "{evidence:?}");
}

#[test]
fn a_proposed_repair_shows_what_it_changes_and_the_command_for_the_whole() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec { propose_only: true, ..JobSpec::default() });
    let broke = Arc::new(fault(Code::LogicError, "KeyError"));
    stage.settle("j", EffectOutcome::Failed { fault: broke, approach: None });
    stage.repaired("j", Some("unstuck/repair/j"));
    let diff = tell::collect_evidence(&stage.state, stage.question()).diff.unwrap();
    assert_eq!(diff.files_changed, 1);
    assert_eq!(diff.whole, "git diff HEAD...unstuck/repair/j");
}

#[test]
fn the_first_run_of_a_firing_follows_none() {
    let mut stage = Stage::new();
    let id = stage.job("nightly", JobSpec::default());
    stage.fails("nightly", fault(Code::ConfigInvalid, "no such file"));
    let events = stage.must(Command::FireJob { task: id });
    let follows: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::RunStarted { retry_of, .. } => Some(*retry_of),
            _ => None,
        })
        .collect();
    assert_eq!(follows, [None]);
}
