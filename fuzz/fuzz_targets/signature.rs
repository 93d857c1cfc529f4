//! Any text has a signature that survives being written, and one line per masked line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::fault::Code;
use unstuck_core::signature::{Signature, masked_lines};

fuzz_target!(|input: (&str, Option<i32>)| {
    let (output, exit) = input;
    let signature = Signature::from_output(Code::LogicError, "fuzz", output, exit);
    assert_eq!(signature.to_string().parse(), Ok(signature));
    masked_lines(output.as_bytes());
});
