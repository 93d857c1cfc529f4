//! Any bytes can be written to the server of tools, whole or in pieces: each line gets at most one
//! line, and a call is a typed value or a typed fault.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::mcp::{
    McpLine, McpLineSplitter, McpProtocol, McpReaction, ParsedMcpCall, mcp_tools,
};

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, piece) = input;
    let protocol = McpProtocol::new(mcp_tools(), "", "0");
    assert_eq!(
        said(&protocol, bytes, bytes.len().max(1)),
        said(&protocol, bytes, usize::from(piece) + 1)
    );
});

fn said(protocol: &McpProtocol, bytes: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let (mut lines, mut said) = (McpLineSplitter::default(), Vec::new());
    for chunk in bytes.chunks(piece) {
        lines.push(chunk, |line| {
            let heard = match &line {
                McpLine::Whole(line) => protocol.handle_line(line),
                McpLine::TooLong => protocol.reject_long_line(),
            };
            match heard {
                McpReaction::Nothing => {}
                McpReaction::Reply(reply) => said.push(reply),
                McpReaction::Call(call) => {
                    let wanted = ParsedMcpCall::parse(&call.tool, &call.input);
                    said.push(call.format_response(&format!("{wanted:?}"), wanted.is_err(), None));
                }
            }
        });
    }
    assert!(said.iter().all(|line| line.iter().filter(|byte| **byte == b'\n').count() == 1));
    said
}
