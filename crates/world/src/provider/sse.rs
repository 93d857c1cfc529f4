//! Parses server-sent events from a stream of bytes; the size of an event is limited.
//!
//! Only the data of an event is passed on: every protocol here repeats the event's type in it.

/// Maximum size of an event in bytes; some streams repeat the whole response in the last one.
pub const EVENT_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// The error of an event above the maximum size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLarge;

/// The state of a stream.
#[derive(Debug, Default)]
pub struct SseParser {
    /// The incomplete line.
    line: Vec<u8>,
    /// The data of the incomplete event.
    data: Vec<u8>,
    has_data: bool,
    /// `true` if the last chunk ended with `\r`: a following `\n` belongs to it.
    after_return: bool,
    begun: bool,
}

impl SseParser {
    /// Handles the next bytes and passes the data of each completed event to `each`, until that
    /// returns `true` for the last one.
    pub fn push<E: From<EventTooLarge>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let mut rest = bytes;
        if std::mem::take(&mut self.after_return) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            let line = &rest[..at];
            let end = rest[at];
            rest = &rest[at + 1..];
            if end == b'\r' {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            if self.finish_line(line)? {
                let last = each(&self.data)?;
                self.data.clear();
                self.has_data = false;
                if last {
                    return Ok(true);
                }
            }
        }
        self.check_size(rest)?;
        self.line.extend_from_slice(rest);
        Ok(false)
    }

    /// Handles the end of a line, and returns whether it completes an event.
    fn finish_line(&mut self, end: &[u8]) -> Result<bool, EventTooLarge> {
        self.check_size(end)?;
        if self.line.is_empty() {
            return Ok(self.parse_field(end));
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(end);
        let ended = self.parse_field(&line);
        line.clear();
        self.line = line;
        Ok(ended)
    }

    fn parse_field(&mut self, line: &[u8]) -> bool {
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
        if line.is_empty() {
            return self.has_data;
        }
        let Some(value) = line.strip_prefix(b"data") else { return false };
        let value = match value {
            [] => value,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            // Another field that begins with the same letters.
            _ => return false,
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        false
    }

    fn check_size(&self, more: &[u8]) -> Result<(), EventTooLarge> {
        let size = self.line.len() + self.data.len() + more.len();
        if size > EVENT_BYTES_MAX { Err(EventTooLarge) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], size: usize) -> Vec<String> {
        let mut events = SseParser::default();
        let mut read = Vec::new();
        for piece in bytes.chunks(size) {
            let last = events.push::<EventTooLarge>(piece, |data| {
                read.push(String::from_utf8_lossy(data).into_owned());
                Ok(data == b"[DONE]")
            });
            if last == Ok(true) {
                break;
            }
        }
        read
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let cases: [(&[u8], &[&str]); 10] = [
            (b"data: a\n\ndata: b\n\n", &["a", "b"]),
            (b"event: x\ndata: a\nid: 1\n\n", &["a"]),
            (b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (b"data: a\r\rdata: b\r\r", &["a", "b"]),
            (b"data: a\ndata: b\n\n", &["a\nb"]),
            (b"data:a\n\ndata\n\ndata:  b\n\n", &["a", "", " b"]),
            (b": keep alive\n\n\n\ndata: a\n\n", &["a"]),
            (b"\xEF\xBB\xBFdata: a\n\n", &["a"]),
            (b"data: a\n\ndata: not ended", &["a"]),
            (b"database: x\ndata: [DONE]\n\ndata: after\n\n", &["[DONE]"]),
        ];
        for (bytes, expected) in cases {
            for size in 1..=bytes.len() {
                assert_eq!(read(bytes, size), expected, "{bytes:?} by {size}");
            }
        }
    }

    #[test]
    fn an_event_has_a_largest_size() {
        let mut events = SseParser::default();
        let piece = vec![b'x'; 1_024 * 1_024];
        let taken =
            (0..64).take_while(|_| events.push::<EventTooLarge>(&piece, |_| Ok(false)).is_ok());
        assert_eq!(taken.count(), 16);
        let mut events = SseParser::default();
        let lines = b"data: 0123456789\n".repeat(100_000);
        let taken =
            (0..64).take_while(|_| events.push::<EventTooLarge>(&lines, |_| Ok(false)).is_ok());
        assert_eq!(taken.count(), 15);
    }
}
