//! Any bytes can be read, twice alike, and by a rule that is known.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::fault::text_rules::{RuleSet, classify_output, classify_with, rule_name};
use unstuck_core::fault::{Class, Code};

fuzz_target!(|output: &[u8]| {
    let reading = classify_output(output);
    assert_eq!(reading, classify_output(output));
    assert_eq!(rule_name(reading.rule), reading.rule);
    assert!(!matches!(
        reading.code,
        Code::InternalError | Code::InternalStore | Code::PreconditionMissing
    ));
    if let Some((code, _)) = classify_with(output, RuleSet::ValidationOutput) {
        assert_eq!(code.row().class, Class::EnvError);
    }
});
