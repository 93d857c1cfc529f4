//! A single source of settings: a file, the environment, or the command line.

use std::fmt;

use serde::Deserialize as _;
use toml::de::DeTable;
use toml::{Table, Value};
use unstuck_core::fault::Code;

use super::expand::{Unusable, expand};
use super::sections::Settings;
use super::wrong;
use crate::problem::Problem;

/// Maximum size of a settings file.
pub(super) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The built-in default.
    Default,
    /// A file.
    File(String),
    /// An environment variable.
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

/// The settings of one source.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    pub(super) table: Table,
    /// The original text of each value with an expanded variable, by its path. It is shown instead of the
    /// value.
    pub(super) written: Vec<(String, String)>,
}

impl Layer {
    /// Parses a file and returns its usable part with the problems of the rest.
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
            let steps = steps_in(&layer.table, path);
            take(&mut layer.table, &steps);
        }
        let mut problems = wrong::take_out(place, text, read.get_ref(), &mut layer.table);
        problems.extend(unset.into_iter().map(|(_, problem)| problem));
        (layer, problems)
    }

    /// Creates a layer with one value at a path, as written in a variable or an option.
    pub(super) fn of_value(origin: &Origin, path: &str, text: &str) -> Result<Self, Box<Problem>> {
        let mut first = None;
        // Numbers, lists and booleans are written as in a file; any other value is text.
        for value in [scalar(text), Some(Value::String(text.to_owned()))].into_iter().flatten() {
            let mut table = Table::new();
            insert(&mut table, &steps(path), value);
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

    /// Expands the variables and returns the paths where an expansion failed, each with its problem.
    fn put_variables_in(
        &mut self,
        place: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<(String, Problem)> {
        let mut unset = Vec::new();
        let mut written = Vec::new();
        let mut left = super::expand::EXPANSIONS_MAX;
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
                Err(missing) => unset.push((path.to_owned(), missing)),
            }
        });
        let said = |path: &str| said(&self.table, &steps_in(&self.table, path));
        self.written = written.into_iter().map(|(path, text)| (said(&path), text)).collect();
        let problem = |(path, missing): (String, Unusable)| {
            let name = said(&path);
            let problem = Problem::at(missing.code(), place, format!("{name}: {missing}"));
            (path, problem.about(name).of_variable(missing.variable()))
        };
        unset.into_iter().map(problem).collect()
    }
}

/// Returns whether a text is a single variable and nothing else.
fn is_one_variable(text: &str) -> bool {
    text.starts_with("${") && text.find('}') == Some(text.len() - 1)
}

/// Parses a TOML value; returns `None` for text and for anything that is not valid TOML.
pub(super) fn scalar(text: &str) -> Option<Value> {
    let table: Table = toml::from_str(&format!("value = {text}")).ok()?;
    let value = table.get("value").cloned()?;
    (table.len() == 1 && !value.is_str()).then_some(value)
}

/// A step of a path to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(&'a str),
    /// The index in a list of tables.
    Item(usize),
}

/// Splits a path such as `run.jobs` into steps.
fn steps(path: &str) -> Vec<Step<'_>> {
    path.split('.').map(Step::Key).collect()
}

/// Splits a path into steps, where a number below a list is an index.
fn steps_in<'p>(table: &Table, path: &'p str) -> Vec<Step<'p>> {
    let mut here: Option<&Value> = None;
    let step = |name: &'p str| {
        let list = matches!(here, Some(Value::Array(_)));
        let step = match name.parse() {
            Ok(at) if list => Step::Item(at),
            _ => Step::Key(name),
        };
        here = match (here, step) {
            (None, Step::Key(name)) => table.get(name),
            (Some(value), Step::Key(name)) => value.get(name),
            (Some(value), Step::Item(at)) => value.get(at),
            (None, Step::Item(_)) => None,
        };
        step
    };
    path.split('.').map(step).collect()
}

/// Formats a path for people, such as `run.jobs` or `job.mail.schedule`; items of a list appear by their
/// names.
pub(super) fn said(table: &Table, path: &[Step<'_>]) -> String {
    let name_of = |(at, step): (usize, &Step<'_>)| match step {
        Step::Key(name) => (*name).to_owned(),
        Step::Item(item) => {
            let of = find(table, &path[..=at]).and_then(|item| item.get("name")?.as_str());
            of.map_or_else(|| (item + 1).to_string(), str::to_owned)
        }
    };
    let names: Vec<String> = path.iter().enumerate().map(name_of).collect();
    names.join(".")
}

/// Returns the value at a path.
pub(super) fn find<'t>(table: &'t Table, path: &[Step<'_>]) -> Option<&'t Value> {
    let (Step::Key(first), rest) = path.split_first()? else { return None };
    rest.iter().try_fold(table.get(*first)?, |value, step| match step {
        Step::Key(name) => value.get(name),
        Step::Item(at) => value.get(at),
    })
}

/// Inserts a value at a path such as `run`, `jobs`; an item of a list becomes its only item.
pub(super) fn insert(table: &mut Table, path: &[Step<'_>], value: Value) {
    let [Step::Key(name), rest @ ..] = path else { return };
    let under = match rest {
        [] => value,
        [Step::Key(_), ..] => {
            let under = table.remove(*name).unwrap_or_else(|| Value::Table(Table::new()));
            let Value::Table(mut under) = under else { return };
            insert(&mut under, rest, value);
            Value::Table(under)
        }
        [Step::Item(_)] => Value::Array(vec![value]),
        [Step::Item(_), rest @ ..] => {
            let mut item = Table::new();
            insert(&mut item, rest, value);
            Value::Array(vec![Value::Table(item)])
        }
    };
    table.insert((*name).to_owned(), under);
}

/// Removes the value at a path such as `run`, `jobs`. A removed item of a list leaves an empty table, so
/// that the other items keep their indexes.
pub(super) fn take(table: &mut Table, path: &[Step<'_>]) {
    match path {
        [Step::Key(name)] => {
            table.remove(*name);
        }
        [Step::Key(name), Step::Key(_), ..] => {
            if let Some(Value::Table(under)) = table.get_mut(*name) {
                take(under, &path[1..]);
            }
        }
        [Step::Key(name), Step::Item(at), rest @ ..] => {
            let item = table.get_mut(*name).and_then(|list| list.get_mut(*at));
            match (item, rest) {
                (Some(item), []) => *item = Value::Table(Table::new()),
                (Some(Value::Table(item)), rest) => take(item, rest),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Calls `act` for each value that is not a table, with its path; for each element of a list; and for the
/// values of tables in a list, with the index in the path: `job.0.run`.
fn each_text(table: &mut Table, before: &str, act: &mut dyn FnMut(&str, &mut Value)) {
    for (name, value) in table {
        let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
        match value {
            Value::Table(under) => each_text(under, &path, act),
            Value::Array(values) => {
                for (at, value) in values.iter_mut().enumerate() {
                    match value {
                        Value::Table(item) => each_text(item, &format!("{path}.{at}"), act),
                        value => act(&path, value),
                    }
                }
            }
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
