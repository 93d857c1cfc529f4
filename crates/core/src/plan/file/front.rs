//! Front matter: the keys before a task's text.

use super::budget;
use super::name::is_name;
use super::problem::{Wrong, shown};
use super::yaml::{self, Node, Value};
use crate::nearest::nearest;
use crate::plan::WorkPhase;
use crate::policy::Amount;

/// Maximum size of front matter; longer text belongs into the body.
pub(super) const FRONT_BYTES_MAX: usize = 16 * 1024;

/// All known keys.
pub(super) const KEYS: [&str; 10] = [
    "id",
    "title",
    "depends_on",
    "priority",
    "serialize",
    "provider",
    "model",
    "validate",
    "budget",
    "phase",
];

/// Common synonyms of the keys.
const CALLED: [(&str, &str); 5] = [
    ("dependencies", "depends_on"),
    ("needs", "depends_on"),
    ("name", "id"),
    ("checks", "validate"),
    ("exclusive", "serialize"),
];

const TEXT: &str = "write one line of text";
const TEXTS: &str = "write one line of text, or a list of them";
const NUMBER: &str = "write a whole number; the highest goes first";
const PHASE: &str = "write read, decide or act";
const YES_OR_NO: &str = "write true or false";

/// The parsed front matter with its problems.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    /// Names of dependencies, with the line of each.
    pub(super) depends_on: Vec<(String, u32)>,
    pub(super) priority: i32,
    pub(super) serialize: bool,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) validate: Option<Vec<String>>,
    pub(super) budget: Option<Amount>,
    pub(super) phase: Option<WorkPhase>,
    pub(super) problems: Vec<(u32, Wrong)>,
}

/// Returns a file's front matter and the start of its text; without front matter, the text is the whole file.
pub(super) fn split(text: &str) -> Result<(Option<&str>, usize), Wrong> {
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
    Err(Wrong::Unclosed)
}

/// Parses front matter that begins in the second line of its file.
pub(super) fn read(front: &str) -> Keys {
    let mut keys = Keys::default();
    if front.len() > FRONT_BYTES_MAX {
        keys.wrong(0, Wrong::FrontTooLarge(front.len()));
        return keys;
    }
    match yaml::read(front) {
        Err((line, wrong)) => keys.wrong(line, wrong),
        Ok(Node { value: Value::Nothing, .. }) => {}
        Ok(Node { value: Value::Keys(entries), .. }) => {
            for (at, (key, value)) in entries.iter().enumerate() {
                let twice = entries[..at].iter().any(|(known, _)| known.text() == key.text());
                keys.take(key, value, twice);
            }
        }
        Ok(Node { line, .. }) => keys.wrong(line, Wrong::NoKeys),
    }
    keys
}

impl Keys {
    pub(super) fn wrong(&mut self, line: u32, wrong: Wrong) {
        self.problems.push((line + 1, wrong));
    }

    fn take(&mut self, key: &Node, value: &Node, twice: bool) {
        let name = key.shown();
        if twice {
            return self.wrong(key.line, Wrong::KeyTwice(shown(name)));
        }
        match name {
            "id" => self.id = self.text("id", value).filter(|id| self.fits(id, value.line)),
            "title" => self.title = self.text("title", value),
            "provider" => self.provider = self.text("provider", value),
            "model" => self.model = self.text("model", value),
            "depends_on" => self.depends_on = self.names(value),
            "validate" => {
                let commands = self.texts("validate", value);
                self.validate = commands.map(|all| all.into_iter().map(|(one, _)| one).collect());
            }
            "priority" => self.priority = self.parsed("priority", value, NUMBER).unwrap_or(0),
            "serialize" => {
                self.serialize = self.parsed("serialize", value, YES_OR_NO).unwrap_or(false);
            }
            "phase" => self.phase = self.parsed("phase", value, PHASE),
            "budget" => self.budget = budget::read(value, self),
            _ => self.wrong(key.line, unknown(name)),
        }
    }

    fn fits(&mut self, id: &str, line: u32) -> bool {
        let fits = is_name(id);
        if !fits {
            self.wrong(line, Wrong::BadName(shown(id)));
        }
        fits
    }

    fn text(&mut self, key: &'static str, node: &Node) -> Option<String> {
        match &node.value {
            Value::Nothing => None,
            Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Text(_) | Value::List(_) | Value::Keys(_) => {
                self.wrong(node.line, Wrong::value(key, node.shown(), TEXT));
                None
            }
        }
    }

    fn texts(&mut self, key: &'static str, node: &Node) -> Option<Vec<(String, u32)>> {
        match &node.value {
            Value::Nothing => None,
            Value::List(list) => {
                let texts = list.iter().filter_map(|one| Some((self.text(key, one)?, one.line)));
                Some(texts.collect())
            }
            Value::Text(_) => self.text(key, node).map(|text| vec![(text, node.line)]),
            Value::Keys(_) => {
                self.wrong(node.line, Wrong::value(key, node.shown(), TEXTS));
                None
            }
        }
    }

    /// Parses names; a line may contain several, separated by commas.
    fn names(&mut self, node: &Node) -> Vec<(String, u32)> {
        let lines = self.texts("depends_on", node).unwrap_or_default();
        let names = lines.iter().flat_map(|(names, line)| {
            names.split(',').map(move |name| (name.trim().to_owned(), line + 1))
        });
        names.filter(|(name, _)| !name.is_empty()).collect()
    }

    fn parsed<T: std::str::FromStr>(
        &mut self,
        key: &'static str,
        node: &Node,
        wanted: &'static str,
    ) -> Option<T> {
        if let Value::Nothing = node.value {
            return None;
        }
        let parsed = node.text().and_then(|text| text.trim().parse().ok());
        if parsed.is_none() {
            self.wrong(node.line, Wrong::value(key, node.shown(), wanted));
        }
        parsed
    }
}

fn unknown(key: &str) -> Wrong {
    let plain = key.to_lowercase().replace('-', "_");
    let called = CALLED.iter().find(|(theirs, _)| *theirs == plain).map(|(_, ours)| *ours);
    let near = || nearest(&plain, KEYS.into_iter()).first().copied();
    Wrong::UnknownKey { key: shown(key), nearest: called.or_else(near) }
}
