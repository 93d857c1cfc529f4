//! Any bytes can be written to the server of tools, whole or in pieces: each line gets at most one
//! line, and a call is a typed value or a typed fault.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::mcp::{Heard, Line, Lines, Protocol, Wanted, tools};

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, piece) = input;
    let protocol = Protocol::new(tools(), "", "0");
    assert_eq!(
        said(&protocol, bytes, bytes.len().max(1)),
        said(&protocol, bytes, usize::from(piece) + 1)
    );
});

fn said(protocol: &Protocol, bytes: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let (mut lines, mut said) = (Lines::default(), Vec::new());
    for chunk in bytes.chunks(piece) {
        lines.push(chunk, |line| {
            let heard = match &line {
                Line::Whole(line) => protocol.line(line),
                Line::TooLong => protocol.too_long(),
            };
            match heard {
                Heard::Nothing => {}
                Heard::Reply(reply) => said.push(reply),
                Heard::Call(call) => {
                    let wanted = Wanted::read(&call.tool, &call.input);
                    said.push(call.answer(&format!("{wanted:?}"), wanted.is_err(), None));
                }
            }
        });
    }
    assert!(said.iter().all(|line| line.iter().filter(|byte| **byte == b'\n').count() == 1));
    said
}
