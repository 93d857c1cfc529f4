//! A snapshot is read back, or refused, whatever is in it; what is read can be worked with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::engine::{RecordedEvent, State};

fuzz_target!(|text: &str| {
    let (snapshot, journal) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(mut state) = serde_json::from_str::<State>(snapshot) else { return };
    for line in journal.lines() {
        if let Ok(recorded) = serde_json::from_str::<RecordedEvent>(line) {
            state.apply(&recorded).ok();
        }
    }
    state.outstanding_effects();
    serde_json::to_vec(&state).unwrap();
});
