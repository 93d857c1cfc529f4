//! Any bytes can be read as a stream of Claude Code, whole or in pieces, with the same result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::agent::{Activity, AgentEnd};
use unstuck_world::provider::LineSplitter;
use unstuck_world::provider::claude_cli::ClaudeStream;

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, piece) = input;
    assert_eq!(read(bytes, bytes.len().max(1)), read(bytes, usize::from(piece) + 1));
});

fn read(bytes: &[u8], piece: usize) -> (Option<AgentEnd>, Vec<Activity>) {
    let (mut stream, mut activities) = (ClaudeStream::default(), Vec::new());
    let mut lines = LineSplitter::default();
    for chunk in bytes.chunks(piece) {
        lines.push(chunk, |line| stream.handle_line(line, &mut activities));
    }
    lines.finish(|line| stream.handle_line(line, &mut activities));
    (stream.reported_end().cloned(), activities)
}
