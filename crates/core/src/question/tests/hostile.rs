//! Titles and words from outside may contain any text; the question stays whole and bounded.

use proptest::prelude::*;

use super::{plain, words};
use crate::fault::Code;
use crate::question::{QuestionFacts, QuestionKind, Reason, TriedAttempt, build_text};

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
