//! Any bytes can be read as a diff, whole or in pieces, with the same result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::attempt::{DiffChange, DiffReader};

fuzz_target!(|input: (&[u8], u8)| {
    let (diff, piece) = input;
    let whole = DiffChange::from_diff(diff);
    let mut reader = DiffReader::default();
    for chunk in diff.chunks(usize::from(piece) + 1) {
        reader.push(chunk);
    }
    assert_eq!(reader.finish(), whole);
});
