//! Line framing: one JSON value per line, in both directions.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;

use super::wire::{ControlResponse, LINE_BYTES_MAX};

/// Reads the next line, up to the maximum length; `None` at the end or if the line is too long.
pub(super) async fn next_line<R: tokio::io::AsyncRead + Unpin>(
    lines: &mut BufReader<R>,
) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
    let read = lines.take(most).read_until(b'\n', &mut line).await;
    (read.is_ok() && line.ends_with(b"\n")).then_some(line)
}

/// Writes messages, one per line, until all senders are dropped.
pub(super) async fn write_responses(
    mut write: OwnedWriteHalf,
    mut sayings: mpsc::Receiver<ControlResponse>,
) {
    while let Some(say) = sayings.recv().await {
        let Ok(mut line) = serde_json::to_vec(&say) else { continue };
        line.push(b'\n');
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
}
