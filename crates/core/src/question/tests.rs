//! Every public text that the rules can make passes the linter, and says what it must.

use super::*;
use crate::fault::{BudgetSpan, Code, Work};
use crate::text::lint;
use crate::time::Span;

const REASONS: &[Reason] = &[
    Reason::FirstOccurrence,
    Reason::AttemptsUsedUp { tried: 1 },
    Reason::AttemptsUsedUp { tried: 4 },
    Reason::MaxRetriesExceeded { retries: 1 },
    Reason::MaxRetriesExceeded { retries: 5 },
    Reason::WaitedTooLong { span: Span::from_mins(125) },
    Reason::RepairBudgetExhausted { repairs: 1 },
    Reason::RepairBudgetExhausted { repairs: 3 },
    Reason::ShortenedTooOften { times: 2 },
    Reason::RetriedOnce,
    Reason::TooManyDifferentErrors,
    Reason::TooManyCrashes,
    Reason::TooManyQuestions { open: 5 },
    Reason::BudgetSpent { span: BudgetSpan::Task },
    Reason::BudgetSpent { span: BudgetSpan::Build },
    Reason::BudgetSpent { span: BudgetSpan::Day },
    Reason::OutcomeUnknown,
    Reason::AgentAsked,
];

fn all_codes() -> impl Iterator<Item = Option<Code>> {
    Code::ALL.iter().copied().map(Some).chain([None])
}

#[track_caller]
fn plain(text: &str) {
    let findings = lint(text);
    assert!(findings.is_empty(), "{text:?}\n{findings:?}");
}

fn all_plain(text: &QuestionText) {
    plain(&text.problem);
    plain(&text.recommended_text);
    for option in &text.options {
        plain(&option.label);
        plain(&option.description);
    }
    for attempt in &text.attempts {
        plain(attempt);
    }
}

fn tried(code: Code, number: u32) -> TriedAttempt<'static> {
    let summaries = ["", "moved the check into its own step", "edited src/login.rs", "tried again"];
    let at = usize::try_from(number).unwrap() % summaries.len();
    TriedAttempt { number, summary: summaries[at], files_changed: number % 3, commands: 4, code }
}

#[test]
fn every_text_passes_the_linter() {
    // B8, T1.6: all codes × kinds × reasons × work × one or many tasks × 0 to 4 attempts.
    for code in all_codes() {
        for &kind in QuestionKind::ALL {
            for &reason in REASONS {
                for work in [Work::Task, Work::Job] {
                    for (tasks, dependants, number) in
                        [(1, 0, 0), (1, 1, 1), (2, 0, 2), (3, 2, 3), (450, 404, 4)]
                    {
                        let attempts: Vec<_> = (1..=number)
                            .map(|n| tried(code.unwrap_or(Code::LogicError), n))
                            .collect();
                        let asked = Asked {
                            work,
                            tasks,
                            dependants,
                            attempts: &attempts,
                            titles: &["Make the login test pass"],
                            always_allow: tasks > 1,
                            ..Asked::new(kind, code, reason)
                        };
                        let text = text(&asked);
                        all_plain(&text);
                        assert_eq!(text.attempts.len(), attempts.len()); // T1.10
                        assert!((2..=3).contains(&text.options.len())); // T1.10
                        assert!(
                            text.options.iter().any(|o| o.value == text.recommended),
                            "{kind:?} {code:?} {reason:?}"
                        );
                        assert!(text.problem.ends_with(['.', '”']), "{}", text.problem);
                        assert!(!text.problem.contains("  "));
                    }
                }
            }
        }
    }
}
