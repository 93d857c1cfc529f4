//! Tests of the linter: its findings, its exceptions, and its robustness.

use proptest::prelude::*;

use crate::fault::Code;
use crate::text::{FINDINGS_MAX, LINT_BYTES_MAX, LintRule, lint_text};

#[test]
fn technical_detail_is_found() {
    // T1.6
    let cases = [
        (LintRule::Path, "the file /etc/hosts is gone"),
        (LintRule::Path, "look into src/login first"),
        (LintRule::Path, "it is in C:\\temp now"),
        (LintRule::Path, "see https://example.com for more"),
        (LintRule::FileName, "the test in login.py fails"),
        (LintRule::FileName, "(see Cargo.toml)"),
        (LintRule::FileName, "your .env is empty"),
        (LintRule::LineNumber, "it fails on line 42"),
        (LintRule::LineNumber, "it fails at main:42"),
        (LintRule::LineNumber, "it listens on :8080"),
        (LintRule::Path, "the server at 10.0.0.7 is down"),
        (LintRule::Identifier, "write to bob@example.com"),
        (LintRule::FaultCode, "this is PROVIDER_CRASH again"),
        (LintRule::FaultCode, "this is provider_crash again"),
        (LintRule::FaultCode, "the compiler says E0308"),
        (LintRule::FaultCode, "it ended with ECONNREFUSED"),
        (LintRule::StackFrame, "a traceback was shown"),
        (LintRule::StackFrame, "it stopped at handler(main) again"),
        (LintRule::TypeName, "a KeyError came up"),
        (LintRule::TypeName, "the PaymentService is down"),
        (LintRule::Identifier, "the userName is empty"),
        (LintRule::Identifier, "set API_KEY first"),
        (LintRule::Identifier, "call run() again"),
        (LintRule::Identifier, "set $HOME first"),
        (LintRule::Identifier, "use --force next time"),
        (LintRule::Identifier, "go to evil.com now"),
        (LintRule::Identifier, "std::mem is odd"),
        (LintRule::Hash, "since commit 3f9ab12c"),
        (LintRule::Hash, "request 550e8400-e29b-41d4-a716-446655440000"),
        (LintRule::Hash, "the key sk-ant-api03-AAAABBBBCCCC1111"),
        (LintRule::Hash, "at 0xdeadbeef"),
        (LintRule::ExitCode, "it ended with exit status one"),
        (LintRule::ExitCode, "exit code"),
        (LintRule::ExitCode, "it exited 137"),
        (LintRule::ExitCode, "signal 9"),
        (LintRule::HttpStatus, "it said 401 to me"),
        (LintRule::HttpStatus, "HTTP error (503)"),
        (LintRule::Jargon, "read from stdin"),
        (LintRule::Jargon, "look at stderr"),
        (LintRule::Jargon, "the regex is wrong"),
        (LintRule::Jargon, "a null pointer"),
        (LintRule::Jargon, "use UUIDs for orders"),
        (LintRule::Jargon, "the stack trace shows it"),
        (LintRule::Jargon, "an environment variable is missing"),
        (LintRule::Jargon, "the non-idempotent call"),
        (LintRule::Markup, "hello <b>world</b>"),
        (LintRule::Markup, "see [this](that)"),
        (LintRule::Markup, "run `it`"),
        (LintRule::Markup, "it is **bold**"),
        (LintRule::Markup, "hello @everyone"),
        (LintRule::Control, "e\u{301}\u{302}\u{303} on top"),
        (LintRule::Control, "red \u{1b} text"),
        (LintRule::Control, "left \u{202e} right"),
        (LintRule::Control, "zero\u{200b}width"),
        (LintRule::Control, "a tab\there"),
    ];
    for (rule, text) in cases {
        let findings = lint_text(text);
        assert!(findings.iter().any(|found| found.rule == rule), "{text:?}: {findings:?}");
    }
}

#[test]
fn plain_english_passes() {
    let plain = [
        "I was working on “Add a login page”. The hosting account refused the key.",
        "It resumes at 03:00 or 03:00:30, in 1 hour 47 minutes. It has cost $0.31 so far.",
        "3 of 400 tasks are done, and 12 files changed.",
        "GitHub and PayPal are fine, and so is Node.js.",
        "Mrs McCoy asked for a PDF and/or a printed page, 24/7.",
        "Is it OK to go on? Yes/no is enough; we're open 9 a.m. to 5 p.m., e.g. today.",
        "The error came back (twice), so I ask.",
        "Show a 404 page for missing products",
        "Add two-factor authentication",
        "Passwort zurücksetzen reparieren",
        "ログインページを修正",
        "",
    ];
    for text in plain {
        assert_eq!(lint_text(text), [], "{text:?}");
    }
}

#[test]
fn hard_words_are_found_by_their_grade() {
    let hard = "Subsequent authentication necessitates administrative reauthorisation of the \
                corresponding organisational credentials.";
    assert!(lint_text(hard).iter().any(|found| found.rule == LintRule::Grade));
}

#[test]
fn every_code_is_found() {
    for code in Code::ALL {
        let text = format!("it was {code} again");
        assert!(lint_text(&text).iter().any(|found| found.rule == LintRule::FaultCode), "{code}");
    }
}

#[test]
fn long_texts_are_refused_and_findings_bounded() {
    let long = "word ".repeat(LINT_BYTES_MAX);
    assert!(lint_text(&long).iter().any(|found| found.rule == LintRule::TooLong));
    assert_eq!(lint_text(&"a_b ".repeat(1_000)).len(), FINDINGS_MAX);
    // A multi-byte character at the limit is not cut in two.
    assert!(!lint_text(&"é".repeat(LINT_BYTES_MAX)).is_empty());
}

proptest! {
    #[test]
    fn any_text_is_judged_without_harm(text in any::<String>()) {
        for found in lint_text(&text) {
            prop_assert!(found.what.chars().count() <= 60);
            prop_assert!(!found.what.chars().any(char::is_control));
        }
    }
}
