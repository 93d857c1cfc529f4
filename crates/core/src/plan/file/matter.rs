//! Front matter: the YAML before the text of a file, as keys and values with their lines.
//!
//! Values keep their text: an `id` of `001` is not a number. Aliases are refused, so a value is never larger
//! than its text; the parser limits the nesting depth.

use granit_parser::{Event, Marker, Parser, ScalarStyle, StrInput};

use super::problem::{FRONT_BYTES_MAX, PlanFileMistake};

/// A file with front matter.
#[derive(Debug)]
pub struct FrontMatterFile<'t> {
    /// The keys and their values in source order. Their lines are those of the front matter, which begins in
    /// the second line of the file.
    pub keys: Vec<(YamlNode, YamlNode)>,
    /// The text below the front matter.
    pub text: &'t str,
}

/// Parses a file's front matter, or returns the problem and its line.
pub fn parse_front_matter(text: &str) -> Result<FrontMatterFile<'_>, (u32, PlanFileMistake)> {
    let (front, at) = split_front_matter(text).map_err(|wrong| (1, wrong))?;
    let keys = match front {
        None => Vec::new(),
        Some(front) => parse_keys(front).map_err(|(line, wrong)| (line + 1, wrong))?,
    };
    Ok(FrontMatterFile { keys, text: &text[at..] })
}

/// Parses the keys of front matter, or returns the problem and its line within the front matter; line 0 is the one
/// that begins it.
pub(super) fn parse_keys(front: &str) -> Result<Vec<(YamlNode, YamlNode)>, (u32, PlanFileMistake)> {
    if front.len() > FRONT_BYTES_MAX {
        return Err((0, PlanFileMistake::FrontTooLarge(front.len())));
    }
    let read = parse_yaml(front)?;
    match read.value {
        YamlValue::Nothing => Ok(Vec::new()),
        YamlValue::Keys(keys) => Ok(keys),
        YamlValue::Text(_) | YamlValue::List(_) => Err((read.line, PlanFileMistake::NoKeys)),
    }
}

/// Returns the text without the byte order mark that some editors write.
pub(super) fn strip_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns a file's front matter and the start of its text; without front matter, the text is the whole file.
pub(super) fn split_front_matter(text: &str) -> Result<(Option<&str>, usize), PlanFileMistake> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Ok((None, 0));
    };
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Ok((Some(&text[first.len()..at]), at + line.len()));
        }
        at += line.len();
    }
    Err(PlanFileMistake::Unclosed)
}

/// Maximum nesting depth. Valid front matter has at most keys, a key's own keys and a list.
const DEPTH_MAX: usize = 8;

/// A value and the line it begins at.
#[derive(Debug)]
pub struct YamlNode {
    /// The value.
    pub value: YamlValue,
    /// Line number within the front matter, counted from 1.
    pub line: u32,
}

/// A parsed value.
#[derive(Debug)]
pub enum YamlValue {
    /// An empty value.
    Nothing,
    /// Text, verbatim.
    Text(String),
    /// A sequence of values.
    List(Vec<YamlNode>),
    /// A mapping of keys to values.
    Keys(Vec<(YamlNode, YamlNode)>),
}

impl YamlNode {
    /// Returns the text, if the value is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Text(text) => Some(text),
            YamlValue::Nothing | YamlValue::List(_) | YamlValue::Keys(_) => None,
        }
    }

    /// Returns a short description of the value.
    pub(super) fn describe(&self) -> &str {
        match &self.value {
            YamlValue::Text(text) => text,
            YamlValue::Nothing => "empty",
            YamlValue::List(_) => "a list",
            YamlValue::Keys(_) => "a group of keys",
        }
    }
}

/// Parses a value, or returns the problem and its line, counted from 1.
fn parse_yaml(text: &str) -> Result<YamlNode, (u32, PlanFileMistake)> {
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut reader = YamlReader { text, events: Parser::new_from_str_with_options(text, options) };
    loop {
        let (event, line) = reader.next_event()?;
        match event {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::StreamEnd | Event::DocumentEnd => {
                return Ok(YamlNode { value: YamlValue::Nothing, line });
            }
            begun => return reader.read_node(begun, line),
        }
    }
}

struct YamlReader<'a> {
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> YamlReader<'a> {
    fn next_event(&mut self) -> Result<(Event<'a>, u32), (u32, PlanFileMistake)> {
        match self.events.next() {
            Some(Ok((event, span))) => Ok((event, self.line_number(&span.start))),
            Some(Err(error)) => Err((
                self.line_number(error.marker()),
                PlanFileMistake::Yaml(error.kind().to_string()),
            )),
            None => Err((1, PlanFileMistake::NoKeys)),
        }
    }

    /// Returns the line number as the rest of the code counts it: a carriage return without a newline begins
    /// no line.
    fn line_number(&self, marker: &Marker) -> u32 {
        let before = marker.byte_offset().and_then(|at| self.text.as_bytes().get(..at));
        let lines = before.map_or(marker.line().saturating_sub(1), |before| {
            memchr::memchr_iter(b'\n', before).count()
        });
        u32::try_from(lines).unwrap_or(u32::MAX - 1) + 1
    }

    /// Parses the value that begins with an event. The parser limits the depth of this recursion.
    fn read_node(
        &mut self,
        begun: Event<'a>,
        line: u32,
    ) -> Result<YamlNode, (u32, PlanFileMistake)> {
        let value = match begun {
            Event::Scalar(text, style, ..) => parse_scalar(text.into_owned(), style),
            Event::SequenceStart(..) => YamlValue::List(self.read_list()?),
            Event::MappingStart(..) => YamlValue::Keys(self.read_keys()?),
            Event::Alias(_) => return Err((line, PlanFileMistake::Alias)),
            _ => YamlValue::Nothing,
        };
        Ok(YamlNode { value, line })
    }

    fn read_list(&mut self) -> Result<Vec<YamlNode>, (u32, PlanFileMistake)> {
        let mut list = Vec::new();
        loop {
            match self.next_event()? {
                (Event::SequenceEnd, _) => return Ok(list),
                (begun, line) => list.push(self.read_node(begun, line)?),
            }
        }
    }

    fn read_keys(&mut self) -> Result<Vec<(YamlNode, YamlNode)>, (u32, PlanFileMistake)> {
        let mut keys = Vec::new();
        loop {
            let key = match self.next_event()? {
                (Event::MappingEnd, _) => return Ok(keys),
                (begun, line) => self.read_node(begun, line)?,
            };
            let (begun, line) = self.next_event()?;
            keys.push((key, self.read_node(begun, line)?));
        }
    }
}

fn parse_scalar(text: String, style: ScalarStyle) -> YamlValue {
    let plain = style == ScalarStyle::Plain;
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" if plain => YamlValue::Nothing,
        _ => YamlValue::Text(text),
    }
}
