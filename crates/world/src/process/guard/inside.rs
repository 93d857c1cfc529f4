//! Reads the messages of the init process inside a wall's namespaces.

use std::io::{self, PipeReader, Read as _};

use super::report::StageMessage;

/// The guard's end of the pipe from the init process. Reads do not block.
pub(super) struct StagePipe {
    pipe: PipeReader,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
}

impl StagePipe {
    pub(super) const fn from_pipe(pipe: PipeReader) -> Self {
        Self { pipe, line: Vec::new() }
    }

    pub(super) const fn pipe(&self) -> &PipeReader {
        &self.pipe
    }

    /// Returns the messages since the last call, and whether more may come.
    pub(super) fn read_messages(&mut self) -> (Vec<StageMessage>, bool) {
        let mut bytes = [0; 1_024];
        let more = loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => break false,
                Ok(length) => self.line.extend(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        };
        let whole = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = self.line.split_off(whole);
        let lines = std::mem::replace(&mut self.line, rest);
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        (lines.filter_map(|line| serde_json::from_slice(line).ok()).collect(), more)
    }
}
