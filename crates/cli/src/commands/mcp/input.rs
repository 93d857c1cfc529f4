//! What a client writes, line by line.

use std::io::{self, Read as _};
use std::thread;

use tokio::sync::mpsc;
use unstuck_world::mcp::{Line, Lines};

/// Lines that may wait to be looked at; a client that writes more waits as well.
const LINES_MAX: usize = 16;
/// What is read at once.
const CHUNK_BYTES: usize = 64 * 1_024;

/// The lines of standard input, until it ends. It is read by a thread of its own, which nobody waits
/// for: it may stand in a read for as long as the client has nothing to say.
pub(super) fn lines() -> io::Result<mpsc::Receiver<Line>> {
    let (say, lines) = mpsc::channel(LINES_MAX);
    thread::Builder::new().name("unstuck-input".to_owned()).spawn(move || read(&say))?;
    Ok(lines)
}

fn read(say: &mpsc::Sender<Line>) {
    let (mut lines, mut chunk) = (Lines::default(), vec![0; CHUNK_BYTES]);
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut chunk) {
            // One that cannot be read has ended.
            Ok(0) => return,
            Ok(read) => lines.push(&chunk[..read], |line| {
                // Whoever listened is ending.
                let _ = say.blocking_send(line);
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
