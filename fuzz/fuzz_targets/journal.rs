//! A journal is read back, or refused, whatever is in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::engine::{RecordedEvent, State};

fuzz_target!(|text: &str| {
    let mut state = State::new("fuzz");
    for line in text.lines() {
        if let Ok(recorded) = serde_json::from_str::<RecordedEvent>(line) {
            state.apply(&recorded).ok();
        }
    }
    state.outstanding_effects();
});
