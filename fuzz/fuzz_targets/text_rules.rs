//! Any bytes can be read, twice alike, and by a rule that is known.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::fault::text_rules::{Applies, classify, known, read};
use unstuck_core::fault::{Class, Code};

fuzz_target!(|output: &[u8]| {
    let reading = read(output);
    assert_eq!(reading, read(output));
    assert_eq!(known(reading.rule), reading.rule);
    assert!(!matches!(
        reading.code,
        Code::InternalError | Code::InternalStore | Code::PreconditionMissing
    ));
    if let Some((code, _)) = classify(output, Applies::ValidationOutput) {
        assert_eq!(code.row().class, Class::EnvError);
    }
});
