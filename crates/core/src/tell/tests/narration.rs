//! Every live event is narrated as a plain sentence.

use proptest::prelude::*;

use crate::engine::RedCheck;
use crate::fault::{BudgetSpan, Code, Work};
use crate::question::Decision;
use crate::tell::{Narration as N, render_narration};
use crate::text::{lint_text, our_words};
use crate::time::Span;

/// Returns every form, with the given title and code.
fn all(title: &str, code: Code) -> Vec<N<'_>> {
    let mut all = vec![
        N::Started { title },
        N::Remark { title, words: "the checks are green now" },
        N::Retrying { title, attempt: 2, of: 3, code },
        N::Repairing { title, attempt: 1, of: 3, code },
        N::Shortened { title },
        N::Waiting { code, resumes_in: Some(Span::from_mins(107)) },
        N::Waiting { code, resumes_in: None },
        N::GateOpen,
        N::BackingOff { title, code, wait: Span::from_secs(32), fault: None },
        N::Parked { title, code: Some(code), dependants: 0 },
        N::Parked { title, code: Some(code), dependants: 1 },
        N::Parked { title, code: None, dependants: 2 },
        N::Joined { title },
        N::Resumed { title },
        N::Done { title, attempts: 1 },
        N::Done { title, attempts: 2 },
        N::LeftOut { title },
        N::Skipped { title, needs: title },
        N::Skipped { title, needs: "" },
        N::Failed { title, code },
        N::Cancelled { title },
        N::WithoutAction { title },
        N::Reconciling { title },
        N::Reconciled { title, happened: true },
        N::Reconciled { title, happened: false },
        N::BuildPaused { open: 5 },
        N::PausedByPerson,
        N::BudgetSpent { span: BudgetSpan::Task },
        N::BudgetSpent { span: BudgetSpan::Build },
        N::BudgetSpent { span: BudgetSpan::Day },
        N::Sleeping { wakes_in: Span::from_hours(6) },
        N::Waking,
        N::CrashedAndResumed { title },
        N::TakenUpAgain { title },
        N::TakenBack { title, files: 1 },
        N::TakenBack { title, files: 3 },
        N::CheckFilesTakenBack { title, files: 2 },
        N::NotSent { title, output: None },
        N::NotSent { title, output: Some("hook declined") },
        N::PushedAgain { title },
        N::PushArrived { title },
        N::BuildDone { done: 5, left_out: 0, waiting: 0 },
        N::BuildDone { done: 1, left_out: 2, waiting: 1 },
    ];
    all.push(N::Remark { title: "", words: title });
    for &decision in Decision::ALL {
        all.push(N::Answered { title, decision, words: None, tasks: 1 });
        all.push(N::Answered { title, decision, words: Some("use `httpx`"), tasks: 3 });
    }
    all
}

#[track_caller]
fn one_plain_sentence(said: &str) {
    let said = &our_words(said);
    assert_eq!(lint_text(said), [], "{said:?}");
    assert!(said.ends_with('.') && !said.contains(". "), "{said:?}");
    assert!(!said.starts_with(char::is_lowercase), "{said:?}");
}

#[test]
fn each_event_is_one_plain_sentence() {
    // T2.7, T1.6, B8
    for &code in Code::ALL {
        for work in [Work::Task, Work::Job] {
            for title in ["Payment webhook", "", "fix src/main.rs"] {
                for narration in all(title, code) {
                    one_plain_sentence(&render_narration(&narration, work));
                }
            }
        }
    }
}

#[test]
fn a_retry_says_which_approach_and_why() {
    // T2.7
    let retry = N::Retrying {
        title: "Payment webhook",
        attempt: 2,
        of: 3,
        code: Code::ValidationPreCommit,
    };
    assert_eq!(
        render_narration(&retry, Work::Task),
        "Trying a different approach (2 of 3) for “Payment webhook”: a check failed."
    );
}

#[test]
fn a_red_base_names_its_tests_or_the_line_that_says_most() {
    let tests = ["test_add".to_owned(), "test_sub".to_owned()];
    let output = "AssertionError: -1 != 5\nRan 2 tests in 0.001s\n";
    let red = |tests: &[String], output: &str, compared| RedCheck {
        command: "make test".into(),
        exit: 1,
        output: output.into(),
        tests: tests.to_vec(),
        compared,
    };
    let tell = |red: RedCheck| render_narration(&N::RedBase { red: &red }, Work::Task);
    let said = |tests: &[String], output| tell(red(tests, output, false));
    let end = "It has to pass when the work is done.";
    assert_eq!(
        said(&tests, output),
        format!("`make test` fails before any work has begun (test_add and 1 more). {end}")
    );
    assert_eq!(
        said(&[], output),
        format!("`make test` fails before any work has begun (“AssertionError: -1 != 5”). {end}")
    );
    assert_eq!(said(&[], ""), format!("`make test` fails before any work has begun. {end}"));
    let end = "What fails there now may still fail when the work is done, and nothing else.";
    let compared = format!("`make test` fails before any work has begun. {end}");
    assert_eq!(tell(red(&[], "", true)), compared);
}

#[test]
fn the_sentences() {
    let said: Vec<String> = all("Payment webhook", Code::ProviderUsageLimit)
        .iter()
        .map(|narration| render_narration(narration, Work::Task))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

proptest! {
    #[test]
    fn a_hostile_title_changes_nothing(title in "\\PC*|(.|\n){0,80}|[a-z]{1,14}( [a-z]{1,14}){0,9}") {
        for narration in all(&title, Code::LogicError) {
            one_plain_sentence(&render_narration(&narration, Work::Task));
        }
    }
}
