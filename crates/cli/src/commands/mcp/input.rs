//! Reads the client's input, line by line.

use std::io::{self, Read as _};
use std::thread;

use tokio::sync::mpsc;
use unstuck_world::mcp::{McpLine, McpLineSplitter};

/// Maximum number of queued lines; a client that writes more is blocked.
const LINES_MAX: usize = 16;
/// Maximum number of bytes per read.
const CHUNK_BYTES: usize = 64 * 1_024;

/// Returns the lines of standard input, until it ends. A thread of its own reads it and is never joined,
/// because it may block in a read for as long as the client is silent.
pub(super) fn read_lines() -> io::Result<mpsc::Receiver<McpLine>> {
    let (say, lines) = mpsc::channel(LINES_MAX);
    thread::Builder::new().name("unstuck-input".to_owned()).spawn(move || forward_lines(&say))?;
    Ok(lines)
}

fn forward_lines(say: &mpsc::Sender<McpLine>) {
    let mut lines = McpLineSplitter::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut chunk) {
            // An input that cannot be read has ended.
            Ok(0) => return,
            Ok(read) => lines.push(&chunk[..read], |line| {
                // The receiver is gone because the server is ending.
                let _ = say.blocking_send(line);
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
