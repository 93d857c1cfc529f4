//! Splits a stream of bytes into lines of bounded length. A line that is too long is reported,
//! because the client that wrote it waits for a response.

/// Maximum length of a line in bytes.
pub const LINE_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// A line of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpLine {
    /// The line, without its newline.
    Whole(Vec<u8>),
    /// A line that was too long and was dropped.
    TooLong,
}

/// Splits a stream that arrives in chunks of any size into lines, buffering at most one line.
#[derive(Debug, Default)]
pub struct McpLineSplitter {
    begun: Vec<u8>,
    too_long: bool,
}

impl McpLineSplitter {
    /// Takes the next chunk and calls `each` with every line that it completes. A remainder without
    /// a newline at the end of the stream is no line.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(McpLine)) {
        let mut parts = chunk.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.buffer_bytes(part);
            if parts.peek().is_some() {
                each(self.take_line());
            }
        }
    }

    fn buffer_bytes(&mut self, bytes: &[u8]) {
        self.too_long |= self.begun.len() + bytes.len() > LINE_BYTES_MAX;
        if self.too_long {
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }

    fn take_line(&mut self) -> McpLine {
        let line = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.too_long) { McpLine::TooLong } else { McpLine::Whole(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &[u8], piece: usize) -> Vec<McpLine> {
        let mut lines = McpLineSplitter::default();
        let mut all = Vec::new();
        for chunk in bytes.chunks(piece) {
            lines.push(chunk, |line| all.push(line));
        }
        all
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        let bytes = b"one\n\ntwo\r\nleft";
        let whole = |text: &str| McpLine::Whole(text.as_bytes().to_vec());
        for piece in 1..=bytes.len() {
            assert_eq!(cut(bytes, piece), [whole("one"), whole(""), whole("two\r")], "{piece}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_known_and_the_next_one_is_read() {
        let longest = vec![b'x'; LINE_BYTES_MAX];
        let mut bytes = longest.clone();
        bytes.push(b'\n');
        bytes.extend_from_slice(&longest);
        bytes.extend_from_slice(b"y\nafter\n");
        let after = McpLine::Whole(b"after".to_vec());
        assert_eq!(cut(&bytes, 65_536), [McpLine::Whole(longest), McpLine::TooLong, after]);
    }
}
