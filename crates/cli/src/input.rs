//! Reads files and standard input with a bounded amount of memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use crate::error::CliError;

/// Maximum number of bytes of a text that are kept. A longer text is read to its end and only its last part
/// is kept, because a program that fails gives the reason at the end.
pub(crate) const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum length of a line of bulk input. A longer line is refused, because its end may never come.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;

/// An open input.
pub(crate) struct InputReader {
    place: String,
    reader: BufReader<Box<dyn Read>>,
    is_terminal: bool,
    line: u64,
}

/// The last part of a text.
pub(crate) struct TextTail {
    /// At most [`TEXT_BYTES_MAX`] bytes.
    pub(crate) text: Vec<u8>,
    /// Number of bytes that were read before `text` and discarded.
    pub(crate) skipped_bytes: u64,
}

impl InputReader {
    /// Opens the file; without one, or for `-`, standard input.
    pub(crate) fn open(file: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = file.filter(|path| *path != Path::new("-")) else {
            let stdin = io::stdin();
            let is_terminal = stdin.is_terminal();
            return Ok(Self::new("standard input".to_owned(), Box::new(stdin.lock()), is_terminal));
        };
        let place = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::new(place, Box::new(file), false)),
            Err(source) => Err(CliError::Input { place, source }),
        }
    }

    fn new(place: String, reader: Box<dyn Read>, is_terminal: bool) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        Self { place, reader, is_terminal, line: 0 }
    }

    /// Returns whether the input is a terminal, so that a person would have to type it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Reads to the end of the input and keeps the last part.
    pub(crate) fn read_tail(&mut self) -> Result<TextTail, CliError> {
        let mut end = TextTail { text: Vec::new(), skipped_bytes: 0 };
        loop {
            let chunk =
                self.reader.fill_buf().map_err(|source| input_error(&self.place, source))?;
            if chunk.is_empty() {
                break;
            }
            end.text.extend_from_slice(chunk);
            let taken = chunk.len();
            self.reader.consume(taken);
            // Cut only at twice the limit, so that each byte is moved at most once.
            if end.text.len() >= 2 * TEXT_BYTES_MAX {
                end.discard_excess();
            }
        }
        end.discard_excess();
        Ok(end)
    }

    /// Reads the next line into `line`, without its newline; returns `false` at the end of the input.
    pub(crate) fn next_line(&mut self, line: &mut Vec<u8>) -> Result<bool, CliError> {
        line.clear();
        self.line += 1;
        let most = LINE_BYTES_MAX as u64 + 1;
        let read = (&mut self.reader).take(most).read_until(b'\n', line);
        if read.map_err(|source| input_error(&self.place, source))? == 0 {
            return Ok(false);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > LINE_BYTES_MAX {
            return Err(self.wrong_line(format!("longer than {LINE_BYTES_MAX} bytes")));
        }
        Ok(true)
    }

    /// Returns whether more input is already buffered. Where there is none, the reader of the output may be
    /// waiting for the answers so far.
    pub(crate) fn has_buffered_input(&self) -> bool {
        !self.reader.buffer().is_empty()
    }

    /// Returns the error that the last line read is wrong.
    pub(crate) fn wrong_line(&self, problem: String) -> CliError {
        CliError::Line { place: self.place.clone(), line: self.line, problem }
    }
}

impl TextTail {
    fn discard_excess(&mut self) {
        let extra = self.text.len().saturating_sub(TEXT_BYTES_MAX);
        self.text.drain(..extra);
        self.skipped_bytes += extra as u64;
    }
}

fn input_error(place: &str, source: io::Error) -> CliError {
    CliError::Input { place: place.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(bytes: Vec<u8>) -> InputReader {
        InputReader::new("test".to_owned(), Box::new(io::Cursor::new(bytes)), false)
    }

    #[test]
    fn a_short_text_is_kept_whole() {
        let end = input(b"one\ntwo".to_vec()).read_tail().unwrap();
        assert_eq!((end.text.as_slice(), end.skipped_bytes), (&b"one\ntwo"[..], 0));
    }

    #[test]
    fn of_a_long_text_the_end_is_kept() {
        let mut bytes = vec![b'a'; 3 * TEXT_BYTES_MAX];
        bytes.extend_from_slice(b"the end");
        let end = input(bytes).read_tail().unwrap();
        assert_eq!(end.text.len(), TEXT_BYTES_MAX);
        assert!(end.text.ends_with(b"athe end"));
        assert_eq!(end.skipped_bytes, 2 * TEXT_BYTES_MAX as u64 + 7);
    }

    #[test]
    fn lines_come_without_their_ends_and_the_last_needs_none() {
        let mut input = input(b"a\n\nb".to_vec());
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while input.next_line(&mut line).unwrap() {
            lines.push(line.clone());
        }
        assert_eq!(lines, [b"a".to_vec(), Vec::new(), b"b".to_vec()]);
    }
}
