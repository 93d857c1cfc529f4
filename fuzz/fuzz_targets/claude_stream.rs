//! Any bytes can be read as a stream of Claude Code, whole or in pieces, with the same result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::agent::{Activity, End};
use unstuck_world::provider::Lines;
use unstuck_world::provider::claude_cli::Stream;

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, piece) = input;
    assert_eq!(read(bytes, bytes.len().max(1)), read(bytes, usize::from(piece) + 1));
});

fn read(bytes: &[u8], piece: usize) -> (Option<End>, Vec<Activity>) {
    let (mut stream, mut activities) = (Stream::default(), Vec::new());
    let mut lines = Lines::default();
    for chunk in bytes.chunks(piece) {
        lines.push(chunk, |line| stream.line(line, &mut activities));
    }
    lines.end(|line| stream.line(line, &mut activities));
    (stream.end().cloned(), activities)
}
