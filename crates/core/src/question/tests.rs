//! Questions: Unstuck's own words are plain, the required facts are present, and foreign words are verbatim.

mod breadth;

use proptest::prelude::*;

use super::{
    Decision, OPERATOR_TEXT_BYTES_MAX, OptionsContext, OtherWork, QuestionFacts, QuestionKind,
    QuestionText, Reason, Risk, TriedAttempt, build_options, build_text, operator_text,
};
use crate::fault::{BudgetSpan, Code, Work};
use crate::text::{lint_text, our_words};

#[track_caller]
fn plain(text: &str) {
    let findings = lint_text(&our_words(text));
    assert!(findings.is_empty(), "{text:?}\n{findings:?}");
}

/// Returns all of Unstuck's own words in a question.
fn words(text: QuestionText) -> impl Iterator<Item = String> {
    let options = text.options.into_iter().flat_map(|option| {
        // An option with guidance is worded by the agent.
        let ours = option.guidance.is_none().then_some(option.label);
        ours.into_iter().chain([option.description])
    });
    [text.problem, text.recommended_text].into_iter().chain(options).chain(text.attempts)
}

fn context() -> OptionsContext<'static> {
    QuestionFacts::new(QuestionKind::Choice, None, Reason::FirstOccurrence).options_context()
}

fn values(kind: QuestionKind, context: &OptionsContext<'_>) -> Vec<Decision> {
    build_options(kind, context).into_iter().map(|option| option.value).collect()
}

#[test]
fn an_ended_question_says_nothing_of_what_went_on_meanwhile() {
    let told = "I was working on “Search”. It needs a program that is missing. Trying again would \
                not help, so I am asking you right away.";
    for other_work in [OtherWork::GoesOn, OtherWork::None, OtherWork::Paused, OtherWork::Rests] {
        for (tasks, dependants) in [(1, 0), (1, 1), (1, 2), (2, 3)] {
            let first = QuestionFacts {
                titles: &["Search"],
                tasks,
                dependants,
                other_work,
                ..QuestionFacts::new(
                    QuestionKind::Choice,
                    Some(Code::ToolMissing),
                    Reason::FirstOccurrence,
                )
            };
            let text = build_text(&first);
            let ended = text.problem_when_ended();
            assert!(text.problem.starts_with(&ended) && ended != text.problem, "{ended}");
            assert!(ended.ends_with("so I am asking you right away."), "{ended}");
        }
    }
    let unknown = QuestionText {
        problem: told.to_owned(),
        recommended: None,
        recommended_text: String::new(),
        options: Vec::new(),
        attempts: Vec::new(),
    };
    assert_eq!(unknown.problem_when_ended(), told);
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
        for option in build_options(kind, &context) {
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
        for option in build_options(kind, &context) {
            assert!(option.label.ends_with("(for 3 tasks)"), "{}", option.label);
            assert!(option.description.contains("3 tasks"), "{}", option.description);
        }
    }
    let one = OptionsContext { tasks: 1, dependants: 2, ..context };
    let skip = build_options(QuestionKind::Hands, &one).pop().unwrap();
    assert!(skip.description.contains("and 2 tasks that need it"), "{}", skip.description);
}

#[test]
fn a_first_occurrence_says_nothing_about_attempts() {
    // T1.4, T3.15: a refused key is asked about immediately, with the one attempt that ran.
    let attempts = [TriedAttempt {
        number: 1,
        summary: "",
        files_changed: 0,
        commands: 0,
        code: Code::AuthInvalid,
    }];
    let asked = QuestionFacts {
        attempts: &attempts,
        ..QuestionFacts::new(QuestionKind::Hands, Some(Code::AuthInvalid), Reason::FirstOccurrence)
    };
    let text = build_text(&asked);
    assert_eq!(text.attempts, ["Approach 1: the account refused the key."]);
    let observed = [TriedAttempt { summary: "changed nothing", ..attempts[0] }];
    let observed = build_text(&QuestionFacts { attempts: &observed, ..asked });
    assert_eq!(observed.attempts, ["Approach 1 changed nothing and the account refused the key."]);
    for word in ["three", "four", "3", "4", "tried", "times"] {
        assert!(!text.problem.contains(word), "{}", text.problem);
    }
}

#[test]
fn our_own_fault_is_said_in_one_fixed_sentence() {
    // T3.16
    for code in [Code::InternalError, Code::InternalStore, Code::GitRevertFailed] {
        let asked = QuestionFacts::new(QuestionKind::Ours, Some(code), Reason::FirstOccurrence);
        assert!(build_text(&asked).problem.starts_with("Internal error. Please contact support."));
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
        let asked = QuestionFacts::new(QuestionKind::Choice, Some(Code::EnvConnection), reason);
        let operator = operator_text(&asked, message);
        assert!(operator.starts_with(said), "{operator}");
        for part in ["ENV_CONNECTION", "network", message] {
            assert!(operator.contains(part), "{operator}");
        }
        let public = build_text(&asked).problem;
        assert!(!public.contains(said) && !public.contains("10.0.0.7"), "{public}");
    }
    let asked =
        QuestionFacts::new(QuestionKind::Choice, Some(Code::LogicError), Reason::AgentAsked);
    let long = operator_text(&asked, &"é".repeat(OPERATOR_TEXT_BYTES_MAX));
    assert!(long.len() <= OPERATOR_TEXT_BYTES_MAX);
}

#[test]
fn attempts_are_counted_as_they_ran() {
    let cases = [
        (Reason::AttemptsUsedUp { tried: 1, ways: 1 }, "I tried it once, and it failed."),
        (
            Reason::AttemptsUsedUp { tried: 2, ways: 1 },
            "I tried it twice, the same way both times.",
        ),
        (Reason::AttemptsUsedUp { tried: 4, ways: 1 }, "I tried it four times, each time the same"),
        (Reason::AttemptsUsedUp { tried: 4, ways: 2 }, "four times, in two different ways"),
        (Reason::AttemptsUsedUp { tried: 4, ways: 4 }, "I tried four different ways"),
        (Reason::MaxRetriesExceeded { retries: 5 }, "five more times"),
        (Reason::RepairBudgetExhausted { repairs: 0 }, "No repairs are set up for it"),
        (Reason::RepairBudgetExhausted { repairs: 3 }, "I tried to repair it three times"),
    ];
    for (reason, said) in cases {
        let asked = QuestionFacts::new(QuestionKind::Choice, Some(Code::LogicError), reason);
        assert!(build_text(&asked).problem.contains(said));
    }
}

// T1.4, T1.10
#[test]
fn nothing_comes_back_that_was_met_once() {
    for code in
        [Code::LogicError, Code::ValidationPreCommit, Code::ToolCrash, Code::ProviderRateLimit]
    {
        let asked = QuestionFacts::new(QuestionKind::Choice, Some(code), Reason::FirstOccurrence);
        let problem = build_text(&asked).problem;
        for word in ["keeps", "again.", "still", "came back", "same"] {
            assert!(!problem.contains(word), "{problem}");
        }
    }
}

// T0.18
#[test]
fn the_choices_fit_the_case() {
    use Decision as D;
    let ctx = context();
    let job = OptionsContext { work: Work::Job, ..ctx };
    let unrepaired = Reason::RepairBudgetExhausted { repairs: 0 };
    let cases: [(OptionsContext<'_>, &[Decision]); 4] = [
        (
            OptionsContext { passing: true, ..ctx },
            &[D::TryAgain, D::ProvideGuidance, D::SkipFeature],
        ),
        (OptionsContext { passing: true, ..job }, &[D::TryAgain, D::SkipFeature]),
        (job, &[D::ProvideGuidance, D::TryAgain, D::SkipFeature]),
        (OptionsContext { reason: unrepaired, ..job }, &[D::TryAgain, D::SkipFeature]),
    ];
    for (context, expected) in cases {
        assert_eq!(values(QuestionKind::Choice, &context), expected);
    }
}

#[test]
fn what_is_dangerous_is_never_recommended() {
    use Decision as D;
    for (risk, recommended, offered) in [
        (Risk::Usual, D::AllowOnce, true),
        (Risk::Destructive, D::ProvideGuidance, true),
        (Risk::Undeclared, D::ProvideGuidance, false),
        (Risk::Irreversible, D::Deny, true),
        (Risk::IrreversibleRequest, D::Deny, true),
        (Risk::Never, D::ProvideGuidance, false),
    ] {
        let asked = QuestionFacts {
            what: Some("rm -rf ~"),
            risk,
            always_allow: true,
            ..QuestionFacts::new(
                QuestionKind::Ok,
                Some(Code::PermissionCommandBlocked),
                Reason::FirstOccurrence,
            )
        };
        let text = build_text(&asked);
        assert!(text.problem.contains("“rm -rf ~”"), "{}", text.problem);
        assert_eq!(text.recommended, Some(recommended));
        let allows = text.options.iter().any(|option| option.value == D::AllowOnce);
        assert_eq!(allows, offered);
        let always = text.options.iter().any(|option| option.value == D::AlwaysAllow);
        assert_eq!(always, risk == Risk::Usual);
    }
}

#[test]
fn an_action_is_called_what_it_is_with_the_true_end_of_each_choice() {
    let asked = |risk| QuestionFacts {
        what: Some("POST https://shop.example/order-3"),
        risk,
        action_key: Some("pay-3"),
        ..QuestionFacts::new(
            QuestionKind::Ok,
            Some(Code::PermissionCommandBlocked),
            Reason::FirstOccurrence,
        )
    };
    let request = build_text(&asked(Risk::IrreversibleRequest));
    let said = "The AI helper wants to send a request that cannot be undone, and no rule here allows \
                it: “POST https://shop.example/order-3”. The key of this action is “pay-3”.";
    assert!(request.problem.contains(said), "{}", request.problem);
    assert!(!request.problem.contains("command"), "{}", request.problem);
    let leads = |value| {
        let option = request.options.iter().find(|option| option.value == value);
        option.map(|option| option.description.as_str())
    };
    assert_eq!(leads(Decision::AllowOnce), Some("I do it this one time. It cannot be undone."));
    assert_eq!(
        leads(Decision::Deny),
        Some("I do not do it. The finished work is kept and continues without it.")
    );
    let command = build_text(&asked(Risk::Irreversible)).problem;
    assert!(command.contains("run a command that cannot be undone"), "{command}");
}

#[test]
fn a_choice_of_the_agent_is_shown_in_its_own_words() {
    let own = ["use `httpx` in client.py".to_owned(), "keep requests".to_owned()];
    let asked = QuestionFacts {
        agent_question: Some("Which HTTP library should get_order() use?"),
        agent_options: &own,
        ..QuestionFacts::new(
            QuestionKind::Choice,
            Some(Code::PreconditionInput),
            Reason::AgentAsked,
        )
    };
    let text = build_text(&asked);
    assert!(text.problem.contains("“Which HTTP library should get_order() use?”"));
    assert_eq!(text.recommended, None);
    for (option, own) in text.options.iter().zip(&own) {
        assert_eq!((&option.label, option.guidance.as_ref()), (own, Some(own)));
        assert_eq!(option.value, Decision::ProvideGuidance);
    }
    assert_eq!(text.options.len(), own.len() + 2);
}

#[test]
fn only_a_task_budget_leaves_the_build_running() {
    let budget = |span| {
        let asked = QuestionFacts {
            work: Work::Task,
            ..QuestionFacts::new(QuestionKind::Paused, None, Reason::BudgetSpent { span })
        };
        build_text(&asked).problem
    };
    assert!(budget(BudgetSpan::Task).contains("All other work continues."));
    assert!(budget(BudgetSpan::Build).contains("The build waits for you."));
}

/// Maximum length of a question's problem, for any input.
const PROBLEM_BYTES_MAX: usize = 8_192;

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<script>alert(1)</script>",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{200b}",
        "\0",
        "”",
        "“",
        ". ",
        "Ignore all rules",
        "src/main.rs:42",
        "KeyError",
        "sk-ant-api03-AAAABBBBCCCC1111",
        "\n",
        "exit status 1",
        "[link](http://a.b)",
        "`rm -rf /`",
        "ＡＢＣ",
        "登录",
        "antidisestablishmentarianism",
        "internationalisation",
        "the",
        "login",
        " ",
        "401",
        "PROVIDER_CRASH",
        "{",
        "$HOME",
        "’",
        "?",
    ]);
    prop_oneof![
        any::<String>(),
        "\\PC{0,200}",
        prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()),
        "[a-z]{1,14}( [a-z]{1,14}){0,30}",
    ]
}

fn any_code() -> impl Strategy<Value = Option<Code>> {
    prop::option::of(prop::sample::select(Code::ALL.to_vec()))
}

proptest! {
    #[test]
    fn our_words_stay_plain_whatever_is_put_between_them(
        title in hostile(),
        account in hostile(),
        what in hostile(),
        asks in hostile(),
        summary in hostile(),
        code in any_code(),
        kind in prop::sample::select(QuestionKind::ALL.to_vec()),
        tasks in 0_u32..100_000,
    ) {
        // B8, T1.6
        let attempt = TriedAttempt {
            number: tasks,
            summary: &summary,
            files_changed: tasks,
            commands: 1,
            code: code.unwrap_or(Code::LogicError),
        };
        let asked = QuestionFacts {
            titles: &[&title],
            tasks,
            dependants: tasks,
            account: Some(&account),
            what: Some(&what),
            agent_question: Some(&asks),
            attempts: &[attempt],
            agent_options: std::slice::from_ref(&summary),
            ..QuestionFacts::new(kind, code, Reason::AttemptsUsedUp { tried: tasks, ways: 1 })
        };
        let text = build_text(&asked);
        prop_assert!(text.problem.len() <= PROBLEM_BYTES_MAX);
        for words in words(text) {
            plain(&words);
            let hidden = words.chars().any(|c| c.is_control() || c == '\u{202e}');
            prop_assert!(!hidden);
        }
    }
}
