//! One source of settings: a file, the environment, or the command line.

use std::fmt;

use serde::Deserialize as _;
use toml::de::DeTable;
use toml::{Table, Value};
use unstuck_core::fault::Code;

use super::expand::expand;
use super::sections::Settings;
use super::wrong;
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
    /// Reads a file: what can be used of it, and everything that is wrong with the rest.
    pub(super) fn of_file(
        place: &str,
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> (Self, Vec<Problem>) {
        let (read, broken) = DeTable::parse_recoverable(text);
        if !broken.is_empty() {
            let problems = broken.iter().map(|error| syntax(place, text, error)).collect();
            return (Self::default(), problems);
        }
        let table: Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => return (Self::default(), vec![syntax(place, text, &error)]),
        };
        let mut layer = Self { table, written: Vec::new() };
        let unset = layer.put_variables_in(place, variable);
        for (path, _) in &unset {
            take(&mut layer.table, &names(path));
        }
        let mut problems = wrong::take_out(place, text, read.get_ref(), &mut layer.table);
        problems.extend(unset.into_iter().map(|(_, problem)| problem));
        (layer, problems)
    }

    /// One value at a path, as it is written in a variable or an option.
    pub(super) fn of_value(origin: &Origin, path: &str, text: &str) -> Result<Self, Box<Problem>> {
        let mut first = None;
        // Numbers, lists and switches are written as in a file; all else is text.
        for value in [scalar(text), Some(Value::String(text.to_owned()))].into_iter().flatten() {
            let mut table = Table::new();
            insert(&mut table, &names(path), value);
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

    /// Puts variables in; tells for which paths that cannot be done.
    fn put_variables_in(
        &mut self,
        place: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<(String, Problem)> {
        let mut unset = Vec::new();
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
                    let problem = problem.about(path).of_variable(missing.variable());
                    unset.push((path.to_owned(), problem));
                }
            }
        });
        unset
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

/// The names of a path such as `run.jobs`.
fn names(path: &str) -> Vec<&str> {
    path.split('.').collect()
}

/// Puts a value at a path such as `run`, `jobs`.
pub(super) fn insert(table: &mut Table, path: &[&str], value: Value) {
    match path {
        [] => {}
        [name] => {
            table.insert((*name).to_owned(), value);
        }
        [name, rest @ ..] => {
            let under = table.entry(*name).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(under) = under {
                insert(under, rest, value);
            }
        }
    }
}

/// Takes away what is at a path such as `run`, `jobs`.
pub(super) fn take(table: &mut Table, path: &[&str]) {
    match path {
        [] => {}
        [name] => {
            table.remove(*name);
        }
        [name, rest @ ..] => {
            if let Some(Value::Table(under)) = table.get_mut(*name) {
                take(under, rest);
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

fn syntax(place: &str, text: &str, error: &toml::de::Error) -> Problem {
    let problem = Problem::at(Code::ConfigParseError, place, error.message());
    match error.span() {
        Some(span) => problem.in_text(text, span.start),
        None => problem,
    }
}
