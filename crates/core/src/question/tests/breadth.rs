//! Every text that the rules can produce passes the linter, and contains the required facts.

use std::collections::HashSet;

use super::{plain, words};
use crate::fault::{BudgetSpan, Code, Work};
use crate::question::{
    BudgetFacts, Decision, DefaultAnswer, QuestionFacts, QuestionKind, QuestionText, RaiseFacts,
    RaisedLimit, Reason, Risk, TriedAttempt, build_text,
};
use crate::time::Span;

const REASONS: &[Reason] = &[
    Reason::FirstOccurrence,
    Reason::AttemptsUsedUp { tried: 1, ways: 1 },
    Reason::AttemptsUsedUp { tried: 4, ways: 4 },
    Reason::AttemptsUsedUp { tried: 4, ways: 1 },
    Reason::AttemptsUsedUp { tried: 2, ways: 0 },
    Reason::MaxRetriesExceeded { retries: 1 },
    Reason::MaxRetriesExceeded { retries: 5 },
    Reason::WaitedTooLong { span: Span::from_mins(125) },
    Reason::RepairBudgetExhausted { repairs: 0 },
    Reason::RepairBudgetExhausted { repairs: 1 },
    Reason::RepairBudgetExhausted { repairs: 3 },
    Reason::RepairProposed,
    Reason::ShortenedTooOften { times: 2 },
    Reason::RetriedOnce,
    Reason::TooManyDifferentErrors,
    Reason::TooManyCrashes { times: 3 },
    Reason::KeepsFailing { firings: 1, span: Span::from_mins(1) },
    Reason::KeepsFailing { firings: 3, span: Span::from_mins(125) },
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

fn all_plain(text: QuestionText, seen: &mut HashSet<String>) {
    for text in words(text) {
        if !seen.contains(&text) {
            plain(&text);
            seen.insert(text);
        }
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
    let mut seen = HashSet::new();
    for code in all_codes() {
        for &kind in QuestionKind::ALL {
            for &reason in REASONS {
                for work in [Work::Task, Work::Job] {
                    for (tasks, dependants, number, title) in [
                        (1, 0, 0, ""),
                        (1, 1, 1, "Make the login test pass"),
                        (2, 0, 2, "Make the login test pass"),
                        (3, 2, 3, "fix src/main.rs"),
                        (450, 404, 4, "Importer"),
                    ] {
                        let attempts: Vec<_> = (1..=number)
                            .map(|n| tried(code.unwrap_or(Code::LogicError), n))
                            .collect();
                        let asked = QuestionFacts {
                            work,
                            tasks,
                            dependants,
                            attempts: &attempts,
                            titles: &[title],
                            account: (number == 2).then_some("the hosting account"),
                            what: (number == 2).then_some("pay bill 17"),
                            always_allow: tasks > 1,
                            ..QuestionFacts::new(kind, code, reason)
                        };
                        let text = build_text(&asked);
                        assert_eq!(text.attempts.len(), attempts.len()); // T1.10
                        assert!((2..=4).contains(&text.options.len())); // T1.10
                        assert_eq!(
                            text.recommended.is_none(),
                            kind == QuestionKind::Happened,
                            "{kind:?}"
                        );
                        assert!(
                            text.recommended.is_none()
                                || text.options.iter().any(|o| Some(o.value) == text.recommended),
                            "{kind:?} {code:?} {reason:?}"
                        );
                        assert!(text.problem.ends_with(['.', '”']), "{}", text.problem);
                        assert!(!text.problem.contains("  "));
                        all_plain(text, &mut seen);
                    }
                }
            }
        }
    }
}

/// Returns a question as displayed to a person.
fn card(asked: &QuestionFacts<'_>) -> String {
    use std::fmt::Write as _;
    let text = build_text(asked);
    let mut card = format!("{}\n", text.problem);
    for attempt in &text.attempts {
        writeln!(card, "  · {attempt}").unwrap();
    }
    let recommended = text.recommended.map_or("none", Decision::as_str);
    writeln!(card, "→ {recommended}: {}", text.recommended_text).unwrap();
    for option in &text.options {
        writeln!(card, "[{}] {}\n    {}", option.value, option.label, option.description).unwrap();
    }
    card
}

/// Four attempts at the same error: with a plain summary, a technical one, and none.
const ATTEMPTS: [TriedAttempt<'static>; 4] = [
    TriedAttempt {
        number: 1,
        summary: "checked the signature by hand",
        files_changed: 2,
        commands: 5,
        code: Code::ValidationPreCommit,
    },
    TriedAttempt {
        number: 2,
        summary: "patched verify() in webhook.rs:42",
        files_changed: 3,
        commands: 9,
        code: Code::ValidationPreCommit,
    },
    TriedAttempt {
        number: 3,
        summary: "",
        files_changed: 0,
        commands: 1,
        code: Code::LogicNoProgress,
    },
    TriedAttempt {
        number: 4,
        summary: "",
        files_changed: 0,
        commands: 0,
        code: Code::ValidationPreCommit,
    },
];

#[test]
#[expect(clippy::too_many_lines, reason = "a table: one question for each case")]
fn questions_read_like_a_colleague() {
    let options = ["with VAT".to_owned(), "without VAT, as `net_total()` does".to_owned()];
    let [limit, spent, needed] = ["$5.00", "$0.00", "$7.20"].map(str::to_owned);
    let budget = BudgetFacts { limit, spent, needed, setting: None };
    let raised =
        |more: &str, in_all: &str| RaisedLimit { more: more.to_owned(), in_all: in_all.to_owned() };
    let raise = RaiseFacts { go_on: raised("$7.20", "$12.20"), raise: raised("$21.60", "$26.60") };
    let asked = [
        QuestionFacts {
            titles: &["Put the preview online"],
            account: Some("the hosting account"),
            ..QuestionFacts::new(
                QuestionKind::Hands,
                Some(Code::AuthInvalid),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Payment webhook"],
            dependants: 2,
            attempts: &ATTEMPTS,
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::ValidationPreCommit),
                Reason::AttemptsUsedUp { tried: 4, ways: 4 },
            )
        },
        QuestionFacts {
            titles: &["Importer", "Exporter", "Report"],
            tasks: 3,
            dependants: 1,
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::ProviderOverloaded),
                Reason::WaitedTooLong { span: Span::from_hours(2) },
            )
        },
        QuestionFacts {
            titles: &["Pay the open bills"],
            work: Work::Job,
            what: Some("pay bill 17"),
            ..QuestionFacts::new(QuestionKind::Happened, None, Reason::OutcomeUnknown)
        },
        QuestionFacts {
            titles: &["Tidy the settings page"],
            always_allow: true,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionFileAccess),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Nightly report"],
            work: Work::Job,
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::LogicError),
                Reason::RepairBudgetExhausted { repairs: 3 },
            )
        },
        QuestionFacts {
            titles: &["Add the price list"],
            agent_question: Some("Should prices be shown with tax or without?"),
            default: Some(DefaultAnswer {
                decision: Decision::SkipFeature,
                within: Span::from_hours(8),
            }),
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::PreconditionInput),
                Reason::AgentAsked,
            )
        },
        QuestionFacts {
            titles: &["Payment webhook"],
            ..QuestionFacts::new(QuestionKind::Passing, None, Reason::TooManyCrashes { times: 3 })
        },
        QuestionFacts::new(QuestionKind::Paused, None, Reason::TooManyQuestions { open: 5 }),
        QuestionFacts {
            titles: &["Payment webhook"],
            ..QuestionFacts::new(
                QuestionKind::Paused,
                Some(Code::BudgetExhausted),
                Reason::BudgetSpent { span: BudgetSpan::Task },
            )
        },
        QuestionFacts::new(
            QuestionKind::Paused,
            Some(Code::BudgetExhausted),
            Reason::BudgetSpent { span: BudgetSpan::Build },
        ),
        QuestionFacts {
            titles: &["Return HTTP 404 in get_order() (see README.md)"],
            what: Some("python3 -m pytest -q tests/test_orders.py"),
            attempts: &ATTEMPTS[..1],
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::ValidationPreCommit),
                Reason::AttemptsUsedUp { tried: 4, ways: 1 },
            )
        },
        QuestionFacts {
            titles: &["Räume den Build auf"],
            what: Some("rm -rf ~"),
            risk: Risk::Never,
            always_allow: true,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionCommandBlocked),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Clean up"],
            what: Some("git push --force"),
            risk: Risk::Destructive,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionCommandBlocked),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Pay the invoice"],
            what: Some("POST https://shop.example/order-3"),
            risk: Risk::IrreversibleRequest,
            action_key: Some("pay-3"),
            always_allow: true,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionCommandBlocked),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Clean up"],
            what: Some("/etc/hosts"),
            risk: Risk::Outside,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionFileAccess),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Set up npm"],
            what: Some(".npmrc"),
            program: Some("Claude Code"),
            risk: Risk::Guarded,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionFileAccess),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Add the price list"],
            agent_question: Some("Should `total()` in cart.py include VAT?"),
            answered_before: Some("As in the old cart."),
            agent_options: &options,
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::PreconditionInput),
                Reason::AgentAsked,
            )
        },
        QuestionFacts {
            titles: &["Fix it"],
            account: Some("claude-cli"),
            login: Some("claude login"),
            variable: Some("ANTHROPIC_API_KEY"),
            ..QuestionFacts::new(
                QuestionKind::Hands,
                Some(Code::AuthMissing),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Nightly report"],
            work: Work::Job,
            what: Some("sh report.sh"),
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::LogicError),
                Reason::RepairBudgetExhausted { repairs: 0 },
            )
        },
        QuestionFacts {
            titles: &["Nightly report"],
            work: Work::Job,
            ..QuestionFacts::new(
                QuestionKind::Choice,
                Some(Code::EnvConnection),
                Reason::MaxRetriesExceeded { retries: 5 },
            )
        },
        QuestionFacts {
            titles: &["Payment webhook"],
            budget: Some(&budget),
            raise: Some(&raise),
            ..QuestionFacts::new(
                QuestionKind::Paused,
                Some(Code::BudgetExhausted),
                Reason::BudgetSpent { span: BudgetSpan::Task },
            )
        },
        QuestionFacts {
            titles: &["Payment webhook"],
            what: Some("sh tools/prepare.sh"),
            setup_ended: Some("ended with 3"),
            ..QuestionFacts::new(
                QuestionKind::Hands,
                Some(Code::PreconditionMissing),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Payment webhook"],
            what: Some("`writable = [\"/srv/target\"]` below [wall] in unstuck.toml"),
            kept: Some(
                "The wall kept the check “cargo test” from writing to “/srv/target”, so the work has \
                 not begun.",
            ),
            ..QuestionFacts::new(
                QuestionKind::Hands,
                Some(Code::PreconditionMissing),
                Reason::FirstOccurrence,
            )
        },
        QuestionFacts {
            titles: &["Payment webhook"],
            what: Some(".github/workflows/ci.yml"),
            whole_change: Some("unstuck inbox diff 0"),
            always_allow: true,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionFileAccess),
                Reason::FirstOccurrence,
            )
        },
    ];
    let cards: Vec<String> = asked.iter().map(card).collect();
    insta::assert_snapshot!(cards.join("\n"));
}

#[test]
fn every_code_has_its_own_words() {
    let natural = Code::ALL.iter().filter_map(|&code| {
        let kind = QuestionKind::from_asks(code.row().asks)?;
        let asked = QuestionFacts {
            titles: &["Importer"],
            ..QuestionFacts::new(kind, Some(code), usual(code))
        };
        let text = build_text(&asked);
        Some(format!("{code}\n  {}\n  → {}\n", text.problem, text.recommended_text))
    });
    insta::assert_snapshot!(natural.collect::<String>());
}

/// Returns the reason for which a code most often leads to a question.
fn usual(code: Code) -> Reason {
    use crate::fault::Reaction as R;
    match code.row().reaction {
        R::Backoff | R::BackoffThenGate => Reason::MaxRetriesExceeded { retries: 5 },
        R::Gate => Reason::WaitedTooLong { span: Span::from_hours(2) },
        R::GateUntilReset => Reason::WaitedTooLong { span: Span::from_hours(15) },
        R::Compact => Reason::ShortenedTooOften { times: 2 },
        R::Replan | R::ReplanHarder | R::TakeBackReplan => {
            Reason::AttemptsUsedUp { tried: 4, ways: 4 }
        }
        R::Repair => Reason::RepairBudgetExhausted { repairs: 3 },
        R::RetryOnceAsk | R::RetryOnceWarn | R::RetryOnceWarnAsk => Reason::RetriedOnce,
        R::Budget => Reason::BudgetSpent { span: BudgetSpan::Build },
        R::TakeBackSkip | R::Fail | R::Ask | R::Quarantine | R::TellOperator => {
            Reason::FirstOccurrence
        }
    }
}
