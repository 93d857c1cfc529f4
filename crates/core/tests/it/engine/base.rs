//! What is red before any agent worked: told once, asked once, and the answer holds for the build.

use unstuck_core::engine::{
    Command, CommandRejection, EffectKind, Event, RedCheck, RunNote, Start, TaskState,
};
use unstuck_core::fault::{Fault, Validation};
use unstuck_core::question::{Decision, QuestionKind};

use crate::engine::story::Stage;

fn as_before() -> Fault {
    let context = Validation { command: "make test".to_owned(), ..Validation::default() };
    Fault::validation_red_base("validate:base", "make test fails as before", context)
}

fn red() -> RedCheck {
    let output: Vec<String> = (1..=50).map(|line| format!("line {line}")).collect();
    RedCheck {
        command: "make test".into(),
        exit: 2,
        output: output.join("\n").into(),
        tests: vec!["test_a".to_owned()],
        compared: false,
        later: None,
    }
}

#[test]
fn what_is_red_at_the_base_is_known_to_the_build_with_its_last_lines() {
    let mut stage = Stage::tasks(&["a"]);
    let (effect, note) = (stage.effect_id("a"), RunNote::BaseChecked { red: vec![red()] });
    stage.must(Command::Note { effect, note: note.clone() });
    // Said once more, after a restart or by the next attempt, it is known already.
    assert_eq!(stage.must(Command::Note { effect, note }), []);
    let build = stage.state.builds().next().unwrap();
    let known = &build.red_base[0];
    assert_eq!((&*known.command, known.exit, known.tests.len()), ("make test", 2, 1));
    assert!(known.output.starts_with("line 31\n") && known.output.ends_with("line 50"));
}

// B15
#[test]
fn tasks_that_leave_the_base_red_join_one_question_and_its_answer_holds_for_the_build() {
    for (decision, belongs) in [(Decision::Unrelated, false), (Decision::Belongs, true)] {
        let mut stage = Stage::tasks(&["a", "b"]);
        for name in ["a", "b"] {
            stage.attempt(name);
            stage.fails(name, as_before());
        }
        let question = stage.question();
        assert_eq!((question.kind, question.tasks.len()), (QuestionKind::RedBase, 2));
        let run = stage.state.task(stage.id("a")).unwrap().state.run();
        stage.answer(decision);
        assert_eq!(stage.state.builds().next().unwrap().base_belongs, Some(belongs));
        let next = stage.owed("a");
        if belongs {
            // The work stays and the agent goes on with it.
            assert_eq!(next.what, EffectKind::Attempt { start: Start::KeepTree });
        } else {
            assert_eq!((Some(next.run), next.what), (run, EffectKind::Check));
        }
    }
}

#[test]
fn a_task_that_leaves_the_base_red_can_be_left_out() {
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt("a");
    stage.fails("a", as_before());
    stage.answer(Decision::SkipFeature);
    assert!(matches!(stage.task_state("a"), TaskState::Skipped { .. }));
    assert_eq!(stage.state.builds().next().unwrap().base_belongs, None);
}

#[test]
fn a_person_can_judge_the_base_before_it_is_asked() {
    let mut stage = Stage::tasks(&["a"]);
    let build = stage.state.builds().next().unwrap().id;
    let judge = |belongs| Command::JudgeBase { build, belongs, by: "ada".into() };
    let events = stage.must(judge(false));
    assert_eq!(events, [Event::BaseJudged { build, belongs: false }]);
    stage.succeed("a");
    let late = stage.try_to(judge(true));
    assert!(matches!(late, Err(CommandRejection::NotNow { .. })), "{late:?}");
}

// B15
#[test]
fn a_judgement_of_the_base_answers_the_question_that_is_open() {
    for (belongs, decision) in [(false, Decision::Unrelated), (true, Decision::Belongs)] {
        let mut stage = Stage::tasks(&["a", "b"]);
        stage.attempt("a");
        stage.fails("a", as_before());
        let asked = stage.question().id;
        let build = stage.state.builds().next().unwrap().id;
        let events = stage.must(Command::JudgeBase { build, belongs, by: "ada".into() });
        let answered = events.iter().any(|event| {
            matches!(event, Event::QuestionResolved { question, decision: said, by, .. }
                if (*question, *said, &**by) == (asked, decision, "ada"))
        });
        assert!(answered, "{events:?}");
        assert_eq!(stage.state.builds().next().unwrap().base_belongs, Some(belongs));
        assert_eq!(stage.state.questions().count(), 0);
        assert!(!matches!(stage.task_state("a"), TaskState::Parked { .. }));
    }
}
