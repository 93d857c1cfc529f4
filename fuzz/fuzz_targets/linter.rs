//! Whatever a title holds, what is shown of it passes the linter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::text::{lint, plain_or};

fuzz_target!(|title: &str| {
    let shown = plain_or(title, "this task");
    assert!(lint(&shown).is_empty(), "{shown:?}");
});
