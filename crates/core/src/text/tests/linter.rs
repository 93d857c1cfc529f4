//! Tests of the linter: its findings, its exceptions, and its robustness.

use proptest::prelude::*;

use crate::fault::Code;
use crate::text::{FINDINGS_MAX, LINT_BYTES_MAX, Rule, lint};

#[test]
fn technical_detail_is_found() {
    // T1.6
    let cases = [
        (Rule::Path, "the file /etc/hosts is gone"),
        (Rule::Path, "look into src/login first"),
        (Rule::Path, "it is in C:\\temp now"),
        (Rule::Path, "see https://example.com for more"),
        (Rule::FileName, "the test in login.py fails"),
        (Rule::FileName, "(see Cargo.toml)"),
        (Rule::FileName, "your .env is empty"),
        (Rule::LineNumber, "it fails on line 42"),
        (Rule::LineNumber, "it fails at main:42"),
        (Rule::LineNumber, "it listens on :8080"),
        (Rule::Path, "the server at 10.0.0.7 is down"),
        (Rule::Identifier, "write to bob@example.com"),
        (Rule::FaultCode, "this is PROVIDER_CRASH again"),
        (Rule::FaultCode, "this is provider_crash again"),
        (Rule::FaultCode, "the compiler says E0308"),
        (Rule::FaultCode, "it ended with ECONNREFUSED"),
        (Rule::StackFrame, "a traceback was shown"),
        (Rule::StackFrame, "it stopped at handler(main) again"),
        (Rule::TypeName, "a KeyError came up"),
        (Rule::TypeName, "the PaymentService is down"),
        (Rule::Identifier, "the userName is empty"),
        (Rule::Identifier, "set API_KEY first"),
        (Rule::Identifier, "call run() again"),
        (Rule::Identifier, "set $HOME first"),
        (Rule::Identifier, "use --force next time"),
        (Rule::Identifier, "go to evil.com now"),
        (Rule::Identifier, "std::mem is odd"),
        (Rule::Hash, "since commit 3f9ab12c"),
        (Rule::Hash, "request 550e8400-e29b-41d4-a716-446655440000"),
        (Rule::Hash, "the key sk-ant-api03-AAAABBBBCCCC1111"),
        (Rule::Hash, "at 0xdeadbeef"),
        (Rule::ExitCode, "it ended with exit status one"),
        (Rule::ExitCode, "exit code"),
        (Rule::ExitCode, "it exited 137"),
        (Rule::ExitCode, "signal 9"),
        (Rule::HttpStatus, "it said 401 to me"),
        (Rule::HttpStatus, "HTTP error (503)"),
        (Rule::Jargon, "read from stdin"),
        (Rule::Jargon, "look at stderr"),
        (Rule::Jargon, "the regex is wrong"),
        (Rule::Jargon, "a null pointer"),
        (Rule::Jargon, "use UUIDs for orders"),
        (Rule::Jargon, "the stack trace shows it"),
        (Rule::Jargon, "an environment variable is missing"),
        (Rule::Jargon, "the non-idempotent call"),
        (Rule::Markup, "hello <b>world</b>"),
        (Rule::Markup, "see [this](that)"),
        (Rule::Markup, "run `it`"),
        (Rule::Markup, "it is **bold**"),
        (Rule::Markup, "hello @everyone"),
        (Rule::Control, "e\u{301}\u{302}\u{303} on top"),
        (Rule::Control, "red \u{1b} text"),
        (Rule::Control, "left \u{202e} right"),
        (Rule::Control, "zero\u{200b}width"),
        (Rule::Control, "a tab\there"),
    ];
    for (rule, text) in cases {
        let findings = lint(text);
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
        assert_eq!(lint(text), [], "{text:?}");
    }
}

#[test]
fn hard_words_are_found_by_their_grade() {
    let hard = "Subsequent authentication necessitates administrative reauthorisation of the \
                corresponding organisational credentials.";
    assert!(lint(hard).iter().any(|found| found.rule == Rule::Grade));
}

#[test]
fn every_code_is_found() {
    for code in Code::ALL {
        let text = format!("it was {code} again");
        assert!(lint(&text).iter().any(|found| found.rule == Rule::FaultCode), "{code}");
    }
}

#[test]
fn long_texts_are_refused_and_findings_bounded() {
    let long = "word ".repeat(LINT_BYTES_MAX);
    assert!(lint(&long).iter().any(|found| found.rule == Rule::TooLong));
    assert_eq!(lint(&"a_b ".repeat(1_000)).len(), FINDINGS_MAX);
    // A multi-byte character at the limit is not cut in two.
    assert!(!lint(&"é".repeat(LINT_BYTES_MAX)).is_empty());
}

proptest! {
    #[test]
    fn any_text_is_judged_without_harm(text in any::<String>()) {
        for found in lint(&text) {
            prop_assert!(found.what.chars().count() <= 60);
            prop_assert!(!found.what.chars().any(char::is_control));
        }
    }
}
