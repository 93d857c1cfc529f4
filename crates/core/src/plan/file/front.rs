//! Front matter: the keys before a task's text.

use super::budget;
use super::name::is_name;
use super::problem::{PlanFileMistake, shorten_input};
use super::yaml::{self, YamlNode, YamlValue};
use crate::nearest::find_nearest;
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
pub(super) struct TaskKeys {
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
    pub(super) problems: Vec<(u32, PlanFileMistake)>,
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

/// Parses front matter that begins in the second line of its file.
pub(super) fn parse_task_keys(front: &str) -> TaskKeys {
    let mut keys = TaskKeys::default();
    if front.len() > FRONT_BYTES_MAX {
        keys.add_problem(0, PlanFileMistake::FrontTooLarge(front.len()));
        return keys;
    }
    match yaml::parse_yaml(front) {
        Err((line, wrong)) => keys.add_problem(line, wrong),
        Ok(YamlNode { value: YamlValue::Nothing, .. }) => {}
        Ok(YamlNode { value: YamlValue::Keys(entries), .. }) => {
            for (at, (key, value)) in entries.iter().enumerate() {
                let twice = entries[..at].iter().any(|(known, _)| known.as_text() == key.as_text());
                keys.take_key(key, value, twice);
            }
        }
        Ok(YamlNode { line, .. }) => keys.add_problem(line, PlanFileMistake::NoKeys),
    }
    keys
}

impl TaskKeys {
    pub(super) fn add_problem(&mut self, line: u32, wrong: PlanFileMistake) {
        self.problems.push((line + 1, wrong));
    }

    fn take_key(&mut self, key: &YamlNode, value: &YamlNode, twice: bool) {
        let name = key.describe();
        if twice {
            return self.add_problem(key.line, PlanFileMistake::KeyTwice(shorten_input(name)));
        }
        match name {
            "id" => {
                self.id = self.parse_text("id", value).filter(|id| self.check_name(id, value.line));
            }
            "title" => self.title = self.parse_text("title", value),
            "provider" => self.provider = self.parse_text("provider", value),
            "model" => self.model = self.parse_text("model", value),
            "depends_on" => self.depends_on = self.parse_names(value),
            "validate" => {
                let commands = self.parse_texts("validate", value);
                self.validate = commands.map(|all| all.into_iter().map(|(one, _)| one).collect());
            }
            "priority" => self.priority = self.parse_value("priority", value, NUMBER).unwrap_or(0),
            "serialize" => {
                self.serialize = self.parse_value("serialize", value, YES_OR_NO).unwrap_or(false);
            }
            "phase" => self.phase = self.parse_value("phase", value, PHASE),
            "budget" => self.budget = budget::parse_budget(value, self),
            _ => self.add_problem(key.line, unknown_key(name)),
        }
    }

    fn check_name(&mut self, id: &str, line: u32) -> bool {
        let fits = is_name(id);
        if !fits {
            self.add_problem(line, PlanFileMistake::BadName(shorten_input(id)));
        }
        fits
    }

    fn parse_text(&mut self, key: &'static str, node: &YamlNode) -> Option<String> {
        match &node.value {
            YamlValue::Nothing => None,
            YamlValue::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            YamlValue::Text(_) | YamlValue::List(_) | YamlValue::Keys(_) => {
                self.add_problem(node.line, PlanFileMistake::bad_value(key, node.describe(), TEXT));
                None
            }
        }
    }

    fn parse_texts(&mut self, key: &'static str, node: &YamlNode) -> Option<Vec<(String, u32)>> {
        match &node.value {
            YamlValue::Nothing => None,
            YamlValue::List(list) => {
                let texts =
                    list.iter().filter_map(|one| Some((self.parse_text(key, one)?, one.line)));
                Some(texts.collect())
            }
            YamlValue::Text(_) => self.parse_text(key, node).map(|text| vec![(text, node.line)]),
            YamlValue::Keys(_) => {
                self.add_problem(
                    node.line,
                    PlanFileMistake::bad_value(key, node.describe(), TEXTS),
                );
                None
            }
        }
    }

    /// Parses names; a line may contain several, separated by commas.
    fn parse_names(&mut self, node: &YamlNode) -> Vec<(String, u32)> {
        let lines = self.parse_texts("depends_on", node).unwrap_or_default();
        let names = lines.iter().flat_map(|(names, line)| {
            names.split(',').map(move |name| (name.trim().to_owned(), line + 1))
        });
        names.filter(|(name, _)| !name.is_empty()).collect()
    }

    fn parse_value<T: std::str::FromStr>(
        &mut self,
        key: &'static str,
        node: &YamlNode,
        wanted: &'static str,
    ) -> Option<T> {
        if let YamlValue::Nothing = node.value {
            return None;
        }
        let parsed = node.as_text().and_then(|text| text.trim().parse().ok());
        if parsed.is_none() {
            self.add_problem(node.line, PlanFileMistake::bad_value(key, node.describe(), wanted));
        }
        parsed
    }
}

fn unknown_key(key: &str) -> PlanFileMistake {
    let plain = key.to_lowercase().replace('-', "_");
    let called = CALLED.iter().find(|(theirs, _)| *theirs == plain).map(|(_, ours)| *ours);
    let near = || find_nearest(&plain, KEYS.into_iter()).first().copied();
    PlanFileMistake::UnknownKey { key: shorten_input(key), nearest: called.or_else(near) }
}
