//! Whatever a title holds, Unstuck's own words around it pass the linter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::fault::Work;
use unstuck_core::text::{lint_text, our_words, quote_title};

fuzz_target!(|title: &str| {
    let shown = our_words(&quote_title(title, Work::Task));
    assert!(lint_text(&shown).is_empty(), "{shown:?}");
});
