//! What questions must say, and what they must not.

use crate::fault::{BudgetSpan, Code, Work};
use crate::question::{
    Asked, Decision, OPERATOR_TEXT_BYTES_MAX, OptionsContext, QuestionKind, Reason, TriedAttempt,
    operator_text, options, text,
};

fn context() -> OptionsContext {
    Asked::new(QuestionKind::Choice, None, Reason::FirstOccurrence).options_context()
}

fn values(kind: QuestionKind, context: &OptionsContext) -> Vec<Decision> {
    options(kind, context).into_iter().map(|option| option.value).collect()
}

#[test]
fn each_kind_offers_exactly_its_choices() {
    // T0.18
    use Decision as D;
    let context = OptionsContext { always_allow: true, ..context() };
    let exact: [(QuestionKind, &[Decision]); 7] = [
        (QuestionKind::Hands, &[D::ProvideCredentials, D::SkipFeature]),
        (QuestionKind::Ok, &[D::AllowOnce, D::AlwaysAllow, D::Deny]),
        (QuestionKind::Choice, &[D::ProvideGuidance, D::SimplerVersion, D::SkipFeature]),
        (QuestionKind::Happened, &[D::ItHappened, D::ItDidNot, D::Skip]),
        (QuestionKind::Ours, &[D::TryAgain, D::SkipFeature]),
        (QuestionKind::Passing, &[D::TryAgain, D::SkipFeature]),
        (QuestionKind::Paused, &[D::Continue, D::RaiseLimit, D::Stop]),
    ];
    for (kind, expected) in exact {
        assert_eq!(values(kind, &context), expected);
        for option in options(kind, &context) {
            assert!(!option.label.is_empty() && option.description.ends_with('.'));
        }
    }
}

#[test]
fn allowing_for_good_is_offered_only_where_the_policy_permits() {
    assert_eq!(values(QuestionKind::Ok, &context()), [Decision::AllowOnce, Decision::Deny]);
}

#[test]
fn a_choice_says_how_many_tasks_it_applies_to() {
    let context = OptionsContext { tasks: 3, dependants: 2, ..context() };
    for kind in [QuestionKind::Hands, QuestionKind::Choice, QuestionKind::Happened] {
        for option in options(kind, &context) {
            assert!(option.label.ends_with("(for 3 tasks)"), "{}", option.label);
            assert!(option.description.contains("3 tasks"), "{}", option.description);
        }
    }
    let one = OptionsContext { tasks: 1, dependants: 2, ..context };
    let skip = options(QuestionKind::Hands, &one).pop().unwrap();
    assert!(skip.description.contains("and 2 tasks that need it"), "{}", skip.description);
}

#[test]
fn a_first_occurrence_says_nothing_about_attempts() {
    // T1.4, T3.15: a refused key asks at once, with the one attempt that ran.
    let attempts = [TriedAttempt {
        number: 1,
        summary: "",
        files_changed: 0,
        commands: 0,
        code: Code::AuthInvalid,
    }];
    let asked = Asked {
        attempts: &attempts,
        ..Asked::new(QuestionKind::Hands, Some(Code::AuthInvalid), Reason::FirstOccurrence)
    };
    let text = text(&asked);
    assert_eq!(text.attempts, ["Approach 1: the account refused the key."]);
    for word in ["three", "four", "3", "4", "tried", "times"] {
        assert!(!text.problem.contains(word), "{}", text.problem);
    }
}

#[test]
fn our_own_fault_is_said_in_one_fixed_sentence() {
    // T3.16
    for code in [Code::InternalError, Code::InternalStore, Code::GitRevertFailed] {
        let asked = Asked::new(QuestionKind::Ours, Some(code), Reason::FirstOccurrence);
        assert!(text(&asked).problem.starts_with("Internal error. Please contact support."));
    }
}

#[test]
fn an_operator_reads_the_rule_and_the_message() {
    // T3.7, T3.8
    let message = "connect ECONNREFUSED 10.0.0.7:5432";
    let cases = [
        (Reason::MaxRetriesExceeded { retries: 5 }, "Max retries exceeded"),
        (Reason::RepairBudgetExhausted { repairs: 3 }, "Repair budget exhausted"),
    ];
    for (reason, said) in cases {
        let asked = Asked::new(QuestionKind::Choice, Some(Code::EnvConnection), reason);
        let operator = operator_text(&asked, message);
        assert!(operator.starts_with(said), "{operator}");
        for part in ["ENV_CONNECTION", "network", message] {
            assert!(operator.contains(part), "{operator}");
        }
        let public = text(&asked).problem;
        assert!(!public.contains(said) && !public.contains("10.0.0.7"), "{public}");
    }
    let asked = Asked::new(QuestionKind::Choice, Some(Code::LogicError), Reason::AgentAsked);
    let long = operator_text(&asked, &"é".repeat(OPERATOR_TEXT_BYTES_MAX));
    assert!(long.len() <= OPERATOR_TEXT_BYTES_MAX);
}

#[test]
fn attempts_are_counted_as_they_ran() {
    let cases = [
        (Reason::AttemptsUsedUp { tried: 1 }, "I tried one way"),
        (Reason::AttemptsUsedUp { tried: 4 }, "I tried four different ways"),
        (Reason::MaxRetriesExceeded { retries: 5 }, "five more times"),
        (Reason::RepairBudgetExhausted { repairs: 0 }, "no way to repair it"),
        (Reason::RepairBudgetExhausted { repairs: 3 }, "I repaired it three times"),
    ];
    for (reason, said) in cases {
        let asked = Asked::new(QuestionKind::Choice, Some(Code::LogicError), reason);
        assert!(text(&asked).problem.contains(said));
    }
}

#[test]
fn only_a_task_budget_leaves_the_build_running() {
    let budget = |span| {
        let asked = Asked {
            work: Work::Task,
            ..Asked::new(QuestionKind::Paused, None, Reason::BudgetSpent { span })
        };
        text(&asked).problem
    };
    assert!(budget(BudgetSpan::Task).contains("All other work goes on."));
    assert!(budget(BudgetSpan::Build).contains("The build waits for you."));
}
