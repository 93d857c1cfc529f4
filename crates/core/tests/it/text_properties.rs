//! What holds for every output, sought by chance.

use proptest::prelude::*;
use unstuck_core::fault::text_rules::{RuleSet, classify_output, classify_with, rule_name};
use unstuck_core::fault::{Class, Code};
use unstuck_core::signature::{Signature, masked_lines};

/// Pieces of real outputs, so that chance finds its way into the rules.
const PIECES: &[&str] = &[
    "error",
    ": ",
    "fatal: ",
    "\n",
    "  ",
    "src/a.rs:3:5",
    " --> ",
    "|",
    "^^^ ",
    "File \"x.py\", line 3",
    "Traceback (most recent call last):\n",
    "'",
    "\"",
    "`",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "401",
    "429",
    "HTTP/1.1 ",
    "errno ",
    "-2",
    "[Errno 28]",
    "E0425",
    "ENOSPC",
    "timeout",
    "permission denied",
    "\u{1b}[31m",
    "\u{1b}[",
    "\r",
    "\0",
    "https://h:80/p?q",
    "127.0.0.1:65535",
    "::1",
    "v1.2.3",
    "@",
    "=",
    "2026-11-15T03:32:29Z ",
    "#1 0.2 ",
    "KeyError: 'A_B'",
    "panicked at ",
    "Caused by:\n",
    "E   ",
    "x ",
    "\u{2018}",
    "\u{2502} ",
    "npm error ",
    "code: 'X'",
    ", ",
    "==",
    "--- FAIL: T (0s)",
    "Did you mean 'x'?",
];

fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn reading_never_panics_and_always_agrees_with_itself(output in output()) {
        let reading = classify_output(&output);
        prop_assert_eq!(reading, classify_output(&output));
        prop_assert_eq!(rule_name(reading.rule), reading.rule);
        prop_assert_eq!(reading.signature.code, reading.code);
        prop_assert!(!matches!(reading.code, Code::InternalError | Code::PreconditionMissing));
        masked_lines(&output);
    }

    #[test]
    fn validation_output_yields_only_the_environment(output in output()) {
        if let Some((code, _)) = classify_with(&output, RuleSet::ValidationOutput) {
            prop_assert_eq!(code.row().class, Class::EnvError);
        }
    }

    #[test]
    fn colour_changes_nothing(words in "[a-z ]{0,40}") {
        let plain = format!("error: {words}");
        let coloured = format!("\u{1b}[1;31merror\u{1b}[0m: {words}\u{1b}[m");
        prop_assert_eq!(classify_output(plain.as_bytes()).signature, classify_output(coloured.as_bytes()).signature);
    }

    #[test]
    fn line_numbers_and_directories_change_nothing(line in 1_u32..99_999, column in 1_u32..999, dir in "[a-z]{1,8}(/[a-z]{1,8}){0,3}") {
        let base = classify_output(b"/w/main.c:1:1: error: unknown type name 'foo'").signature;
        let moved = format!("/{dir}/main.c:{line}:{column}: error: unknown type name 'foo'");
        prop_assert_eq!(classify_output(moved.as_bytes()).signature, base);
    }

    #[test]
    fn signatures_survive_being_written(text in ".{0,80}", exit in any::<Option<i32>>()) {
        let signature = Signature::from_output(Code::LogicError, "job", &text, exit);
        prop_assert_eq!(signature.to_string().parse::<Signature>(), Ok(signature));
    }
}
