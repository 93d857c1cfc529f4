//! Front matter as values with their lines.
//!
//! Values stay as they are written: an `id` of `001` is no number. Aliases are refused, so a value is
//! never larger than its text; the parser bounds how deep values may lie in each other.

use granit_parser::{Event, Marker, Parser, ScalarStyle, StrInput};

use super::problem::Wrong;

/// How deep values may lie in each other. Keys, a key's own keys and a list are as deep as it gets.
const DEPTH_MAX: usize = 8;

/// A value and the line it begins at.
#[derive(Debug)]
pub struct Node {
    /// What stands there.
    pub value: Value,
    /// Counted from 1, in the front matter.
    pub line: u32,
}

/// A value.
#[derive(Debug)]
pub enum Value {
    /// Nothing.
    Nothing,
    /// Text, as it is written.
    Text(String),
    /// Values one after the other.
    List(Vec<Node>),
    /// Values under their keys.
    Keys(Vec<(Node, Node)>),
}

impl Node {
    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Nothing | Value::List(_) | Value::Keys(_) => None,
        }
    }

    /// What stands there, in words.
    pub(super) fn shown(&self) -> &str {
        match &self.value {
            Value::Text(text) => text,
            Value::Nothing => "empty",
            Value::List(_) => "a list",
            Value::Keys(_) => "a group of keys",
        }
    }
}

/// Reads one value, or says what is wrong and in which line, counted from 1.
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

    /// The line as everything else counts it: a return without a new line begins none.
    fn line(&self, marker: &Marker) -> u32 {
        let before = marker.byte_offset().and_then(|at| self.text.as_bytes().get(..at));
        let lines = before.map_or(marker.line().saturating_sub(1), |before| {
            memchr::memchr_iter(b'\n', before).count()
        });
        u32::try_from(lines).unwrap_or(u32::MAX - 1) + 1
    }

    /// The value that begins with an event. Values lie in each other no deeper than the parser
    /// allows.
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
