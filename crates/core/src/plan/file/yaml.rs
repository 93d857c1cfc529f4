//! Front matter as values with their lines.
//!
//! Values keep their text: an `id` of `001` is not a number. Aliases are refused, so a value is never larger
//! than its text; the parser limits the nesting depth.

use granit_parser::{Event, Marker, Parser, ScalarStyle, StrInput};

use super::problem::Wrong;

/// Maximum nesting depth. Valid front matter has at most keys, a key's own keys and a list.
const DEPTH_MAX: usize = 8;

/// A value and the line it begins at.
#[derive(Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Line number within the front matter, counted from 1.
    pub line: u32,
}

/// A parsed value.
#[derive(Debug)]
pub enum Value {
    /// An empty value.
    Nothing,
    /// Text, verbatim.
    Text(String),
    /// A sequence of values.
    List(Vec<Node>),
    /// A mapping of keys to values.
    Keys(Vec<(Node, Node)>),
}

impl Node {
    /// Returns the text, if the value is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Nothing | Value::List(_) | Value::Keys(_) => None,
        }
    }

    /// Returns a short description of the value.
    pub(super) fn shown(&self) -> &str {
        match &self.value {
            Value::Text(text) => text,
            Value::Nothing => "empty",
            Value::List(_) => "a list",
            Value::Keys(_) => "a group of keys",
        }
    }
}

/// Parses a value, or returns the problem and its line, counted from 1.
pub(super) fn read(text: &str) -> Result<Node, (u32, Wrong)> {
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut reader = Reader { text, events: Parser::new_from_str_with_options(text, options) };
    loop {
        let (event, line) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::StreamEnd | Event::DocumentEnd => {
                return Ok(Node { value: Value::Nothing, line });
            }
            begun => return reader.node(begun, line),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, u32), (u32, Wrong)> {
        match self.events.next() {
            Some(Ok((event, span))) => Ok((event, self.line(&span.start))),
            Some(Err(error)) => {
                Err((self.line(error.marker()), Wrong::Yaml(error.kind().to_string())))
            }
            None => Err((1, Wrong::NoKeys)),
        }
    }

    /// Returns the line number as the rest of the code counts it: a carriage return without a newline begins
    /// no line.
    fn line(&self, marker: &Marker) -> u32 {
        let before = marker.byte_offset().and_then(|at| self.text.as_bytes().get(..at));
        let lines = before.map_or(marker.line().saturating_sub(1), |before| {
            memchr::memchr_iter(b'\n', before).count()
        });
        u32::try_from(lines).unwrap_or(u32::MAX - 1) + 1
    }

    /// Parses the value that begins with an event. The parser limits the depth of this recursion.
    fn node(&mut self, begun: Event<'a>, line: u32) -> Result<Node, (u32, Wrong)> {
        let value = match begun {
            Event::Scalar(text, style, ..) => scalar(text.into_owned(), style),
            Event::SequenceStart(..) => Value::List(self.list()?),
            Event::MappingStart(..) => Value::Keys(self.keys()?),
            Event::Alias(_) => return Err((line, Wrong::Alias)),
            _ => Value::Nothing,
        };
        Ok(Node { value, line })
    }

    fn list(&mut self) -> Result<Vec<Node>, (u32, Wrong)> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(list),
                (begun, line) => list.push(self.node(begun, line)?),
            }
        }
    }

    fn keys(&mut self) -> Result<Vec<(Node, Node)>, (u32, Wrong)> {
        let mut keys = Vec::new();
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Ok(keys),
                (begun, line) => self.node(begun, line)?,
            };
            let (begun, line) = self.next()?;
            keys.push((key, self.node(begun, line)?));
        }
    }
}

fn scalar(text: String, style: ScalarStyle) -> Value {
    let plain = style == ScalarStyle::Plain;
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" if plain => Value::Nothing,
        _ => Value::Text(text),
    }
}
