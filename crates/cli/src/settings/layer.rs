//! One source of settings: a file, the environment, or the command line.

use std::fmt;

use serde::Deserialize as _;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};
use unstuck_core::fault::Code;
use unstuck_core::nearest::nearest;

use super::expand::expand;
use super::keys::Keys;
use super::sections::Settings;
use crate::problem::Problem;

/// More than this is no settings file.
pub(super) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody set it.
    Default,
    /// A file.
    File(String),
    /// A variable of the environment.
    Variable(String),
    /// An option of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => f.write_str(path),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Some settings, and where each comes from.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    pub(super) table: Table,
    /// What was written where a variable was put in: it is shown instead of the value.
    pub(super) written: Vec<(String, String)>,
}

impl Layer {
    /// Reads a file, or tells everything that is wrong with it.
    pub(super) fn of_file(
        place: &str,
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<Problem>> {
        let (read, broken) = DeTable::parse_recoverable(text);
        if !broken.is_empty() {
            return Err(broken.iter().map(|error| syntax(place, text, error)).collect());
        }
        let mut problems = Vec::new();
        let unknown = Unknown { place, text, problems: &mut problems };
        unknown.look(read.get_ref(), &Keys::all(), "");
        let table: Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => return Err(vec![syntax(place, text, &error)]),
        };
        let mut layer = Self { table, written: Vec::new() };
        layer.put_variables_in(place, variable, &mut problems);
        if problems.is_empty()
            && let Err(error) = Settings::deserialize(layer.table.clone())
        {
            problems.push(wrong_value(place, text, &error));
        }
        if problems.is_empty() { Ok(layer) } else { Err(problems) }
    }

    /// One value at a path, as it is written in a variable or an option.
    pub(super) fn of_value(origin: &Origin, path: &str, text: &str) -> Result<Self, Box<Problem>> {
        let mut first = None;
        // Numbers, lists and switches are written as in a file; all else is text.
        for value in [scalar(text), Some(Value::String(text.to_owned()))].into_iter().flatten() {
            let mut table = Table::new();
            insert(&mut table, path, value);
            match Settings::deserialize(table.clone()) {
                Ok(_) => return Ok(Self { table, written: Vec::new() }),
                Err(error) => first = first.or(Some(error)),
            }
        }
        let message = first.map_or_else(String::new, |error| error.message().to_owned());
        let place = origin.to_string();
        let problem = Problem::at(Code::ConfigInvalid, place, format!("{path}: {message}"));
        let variable = match origin {
            Origin::Variable(name) => Some(name.as_str()),
            Origin::Default | Origin::File(_) | Origin::Flag(_) => None,
        };
        Err(Box::new(problem.about(path).of_variable(variable)))
    }

    fn put_variables_in(
        &mut self,
        place: &str,
        variable: &dyn Fn(&str) -> Option<String>,
        problems: &mut Vec<Problem>,
    ) {
        let mut left = super::expand::EXPANSIONS_MAX;
        let written = &mut self.written;
        each_text(&mut self.table, "", &mut |path, value| {
            let Value::String(text) = value else { return };
            match expand(text, variable, &mut left) {
                Ok(None) => {}
                Ok(Some(put_in)) => {
                    written.push((path.to_owned(), text.clone()));
                    // A number may come from a variable too.
                    *value = scalar(&put_in)
                        .filter(|value| !value.is_array() && !value.is_table())
                        .filter(|_| is_one_variable(text))
                        .unwrap_or(Value::String(put_in));
                }
                Err(missing) => {
                    let problem = Problem::at(missing.code(), place, format!("{path}: {missing}"));
                    problems.push(problem.about(path).of_variable(missing.variable()));
                }
            }
        });
    }
}

/// Whether a text is one variable and nothing else.
fn is_one_variable(text: &str) -> bool {
    text.starts_with("${") && text.find('}') == Some(text.len() - 1)
}

/// A value as TOML writes it, unless it is only text.
fn scalar(text: &str) -> Option<Value> {
    let table: Table = toml::from_str(&format!("value = {text}")).ok()?;
    let value = table.get("value").cloned()?;
    (table.len() == 1 && !value.is_str()).then_some(value)
}

/// Puts a value at a path such as `run.jobs`.
pub(super) fn insert(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((name, rest)) => {
            let under = table.entry(name).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(under) = under {
                insert(under, rest, value);
            }
        }
    }
}

/// Every value that is no table, with its path; the texts of lists one by one.
fn each_text(table: &mut Table, before: &str, act: &mut dyn FnMut(&str, &mut Value)) {
    for (name, value) in table {
        let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
        match value {
            Value::Table(under) => each_text(under, &path, act),
            Value::Array(values) => values.iter_mut().for_each(|value| act(&path, value)),
            value => act(&path, value),
        }
    }
}

/// Looks for keys that nobody knows.
struct Unknown<'a> {
    place: &'a str,
    text: &'a str,
    problems: &'a mut Vec<Problem>,
}

impl Unknown<'_> {
    fn look(mut self, table: &DeTable<'_>, keys: &Keys, path: &str) {
        self.look_in(table, keys, path);
    }

    fn look_in(&mut self, table: &DeTable<'_>, keys: &Keys, path: &str) {
        for (name, value) in table {
            let path = if path.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{path}.{}", name.get_ref())
            };
            match (keys.under(name.get_ref()), value.get_ref()) {
                (None, _) => self.tell(name, keys, &path),
                (Some(under), DeValue::Table(table)) if !under.is_value() => {
                    self.look_in(table, under, &path);
                }
                _ => {}
            }
        }
    }

    fn tell(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>, keys: &Keys, path: &str) {
        let problem =
            Problem::at(Code::ConfigInvalid, self.place, format!("there is no setting {path}"));
        let problem = problem.in_text(self.text, name.span().start).about(path);
        let near = nearest(name.get_ref(), keys.names());
        self.problems.push(if near.is_empty() {
            problem.hinting("`unstuck config` lists all settings")
        } else {
            problem.hinting(format!("did you mean {}?", near.join(" or ")))
        });
    }
}

fn syntax(place: &str, text: &str, error: &toml::de::Error) -> Problem {
    let problem = Problem::at(Code::ConfigParseError, place, error.message());
    match error.span() {
        Some(span) => problem.in_text(text, span.start),
        None => problem,
    }
}

/// A value of the wrong kind. The text knows where it stands, unless a variable was put in.
fn wrong_value(place: &str, text: &str, error: &toml::de::Error) -> Problem {
    let located = toml::from_str::<Settings>(text).err();
    let error = located.as_ref().filter(|located| located.span().is_some()).unwrap_or(error);
    let problem = Problem::at(Code::ConfigInvalid, place, error.message());
    let Some(span) = error.span() else { return problem };
    let problem = problem.in_text(text, span.start);
    match DeTable::parse(text).ok().and_then(|table| setting_at(table.get_ref(), span.start)) {
        Some(path) => problem.about(path),
        None => problem,
    }
}

/// The path of the setting whose value stands at a byte.
fn setting_at(table: &DeTable<'_>, at: usize) -> Option<String> {
    let (name, value) = table.iter().find(|(_, value)| match value.get_ref() {
        // A table has no end that is known before the next one begins.
        DeValue::Table(table) => setting_at(table, at).is_some(),
        _ => value.span().contains(&at),
    })?;
    Some(match value.get_ref() {
        DeValue::Table(table) => format!("{}.{}", name.get_ref(), setting_at(table, at)?),
        _ => name.get_ref().to_string(),
    })
}
