//! A single source of settings: a file, the environment, or the command line.

use std::fmt;

use serde::Deserialize as _;
use toml::de::DeTable;
use toml::{Table, Value};
use unstuck_core::fault::Code;

use super::expand::{ExpandError, expand_variables};
use super::sections::Settings;
use super::wrong;
use crate::problem::InputProblem;

/// Maximum size of a settings file.
pub(super) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// The built-in default.
    Default,
    /// A file.
    File(String),
    /// An environment variable.
    Variable(String),
    /// An option of the command line.
    Flag(&'static str),
}

impl fmt::Display for SettingOrigin {
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
pub(super) struct SettingsLayer {
    pub(super) table: Table,
    /// The original text of each value with an expanded variable, by its path. It is shown instead of the
    /// value.
    pub(super) written: Vec<(String, String)>,
}

impl SettingsLayer {
    /// Parses a file and returns its usable part with the problems of the rest.
    pub(super) fn from_file(
        place: &str,
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> (Self, Vec<InputProblem>) {
        let (read, broken) = DeTable::parse_recoverable(text);
        if !broken.is_empty() {
            let problems = broken.iter().map(|error| syntax_problem(place, text, error)).collect();
            return (Self::default(), problems);
        }
        let table: Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => return (Self::default(), vec![syntax_problem(place, text, &error)]),
        };
        let mut layer = Self { table, written: Vec::new() };
        let unset = layer.expand_all(place, variable);
        for (path, _) in &unset {
            let steps = split_path_in(&layer.table, path);
            remove_value(&mut layer.table, &steps);
        }
        let mut problems = wrong::remove_unusable(place, text, read.get_ref(), &mut layer.table);
        problems.extend(unset.into_iter().map(|(_, problem)| problem));
        (layer, problems)
    }

    /// Creates a layer with one value at a path, as written in a variable or an option.
    pub(super) fn from_value(
        origin: &SettingOrigin,
        path: &str,
        text: &str,
    ) -> Result<Self, Box<InputProblem>> {
        let mut first = None;
        // Numbers, lists and booleans are written as in a file; any other value is text.
        for value in
            [parse_scalar(text), Some(Value::String(text.to_owned()))].into_iter().flatten()
        {
            let mut table = Table::new();
            insert_value(&mut table, &split_path(path), value);
            match Settings::deserialize(table.clone()) {
                Ok(_) => return Ok(Self { table, written: Vec::new() }),
                Err(error) => first = first.or(Some(error)),
            }
        }
        let message = first.map_or_else(String::new, |error| error.message().to_owned());
        let place = origin.to_string();
        let problem =
            InputProblem::at_place(Code::ConfigInvalid, place, format!("{path}: {message}"));
        let variable = match origin {
            SettingOrigin::Variable(name) => Some(name.as_str()),
            SettingOrigin::Default | SettingOrigin::File(_) | SettingOrigin::Flag(_) => None,
        };
        Err(Box::new(problem.with_field(path).with_variable(variable)))
    }

    /// Expands the variables and returns the paths where an expansion failed, each with its problem.
    fn expand_all(
        &mut self,
        place: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<(String, InputProblem)> {
        let mut unset = Vec::new();
        let mut written = Vec::new();
        let mut left = super::expand::EXPANSIONS_MAX;
        for_each_value(&mut self.table, "", &mut |path, value| {
            let Value::String(text) = value else { return };
            match expand_variables(text, variable, &mut left) {
                Ok(None) => {}
                Ok(Some(put_in)) => {
                    written.push((path.to_owned(), text.clone()));
                    // A number may come from a variable too.
                    *value = parse_scalar(&put_in)
                        .filter(|value| !value.is_array() && !value.is_table())
                        .filter(|_| is_one_variable(text))
                        .unwrap_or(Value::String(put_in));
                }
                Err(missing) => unset.push((path.to_owned(), missing)),
            }
        });
        let said = |path: &str| render_path(&self.table, &split_path_in(&self.table, path));
        self.written = written.into_iter().map(|(path, text)| (said(&path), text)).collect();
        let problem = |(path, missing): (String, ExpandError)| {
            let name = said(&path);
            let problem =
                InputProblem::at_place(missing.code(), place, format!("{name}: {missing}"));
            (path, problem.with_field(name).with_variable(missing.variable()))
        };
        unset.into_iter().map(problem).collect()
    }
}

/// Returns whether a text is a single variable and nothing else.
fn is_one_variable(text: &str) -> bool {
    text.starts_with("${") && text.find('}') == Some(text.len() - 1)
}

/// Parses a TOML value; returns `None` for text and for anything that is not valid TOML.
pub(super) fn parse_scalar(text: &str) -> Option<Value> {
    let table: Table = toml::from_str(&format!("value = {text}")).ok()?;
    let value = table.get("value").cloned()?;
    (table.len() == 1 && !value.is_str()).then_some(value)
}

/// A step of a path to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingPathStep<'a> {
    Key(&'a str),
    /// The index in a list of tables.
    Item(usize),
}

/// Splits a path such as `run.jobs` into steps.
fn split_path(path: &str) -> Vec<SettingPathStep<'_>> {
    path.split('.').map(SettingPathStep::Key).collect()
}

/// Splits a path into steps, where a number below a list is an index.
fn split_path_in<'p>(table: &Table, path: &'p str) -> Vec<SettingPathStep<'p>> {
    let mut here: Option<&Value> = None;
    let step = |name: &'p str| {
        let list = matches!(here, Some(Value::Array(_)));
        let step = match name.parse() {
            Ok(at) if list => SettingPathStep::Item(at),
            _ => SettingPathStep::Key(name),
        };
        here = match (here, step) {
            (None, SettingPathStep::Key(name)) => table.get(name),
            (Some(value), SettingPathStep::Key(name)) => value.get(name),
            (Some(value), SettingPathStep::Item(at)) => value.get(at),
            (None, SettingPathStep::Item(_)) => None,
        };
        step
    };
    path.split('.').map(step).collect()
}

/// Formats a path for people, such as `run.jobs` or `job.mail.schedule`; items of a list appear by their
/// names.
pub(super) fn render_path(table: &Table, path: &[SettingPathStep<'_>]) -> String {
    let name_of = |(at, step): (usize, &SettingPathStep<'_>)| match step {
        SettingPathStep::Key(name) => (*name).to_owned(),
        SettingPathStep::Item(item) => {
            let of = find_value(table, &path[..=at]).and_then(|item| item.get("name")?.as_str());
            of.map_or_else(|| (item + 1).to_string(), str::to_owned)
        }
    };
    let names: Vec<String> = path.iter().enumerate().map(name_of).collect();
    names.join(".")
}

/// Returns the value at a path.
pub(super) fn find_value<'t>(table: &'t Table, path: &[SettingPathStep<'_>]) -> Option<&'t Value> {
    let (SettingPathStep::Key(first), rest) = path.split_first()? else { return None };
    rest.iter().try_fold(table.get(*first)?, |value, step| match step {
        SettingPathStep::Key(name) => value.get(name),
        SettingPathStep::Item(at) => value.get(at),
    })
}

/// Inserts a value at a path such as `run`, `jobs`; an item of a list becomes its only item.
pub(super) fn insert_value(table: &mut Table, path: &[SettingPathStep<'_>], value: Value) {
    let [SettingPathStep::Key(name), rest @ ..] = path else { return };
    let under = match rest {
        [] => value,
        [SettingPathStep::Key(_), ..] => {
            let under = table.remove(*name).unwrap_or_else(|| Value::Table(Table::new()));
            let Value::Table(mut under) = under else { return };
            insert_value(&mut under, rest, value);
            Value::Table(under)
        }
        [SettingPathStep::Item(_)] => Value::Array(vec![value]),
        [SettingPathStep::Item(_), rest @ ..] => {
            let mut item = Table::new();
            insert_value(&mut item, rest, value);
            Value::Array(vec![Value::Table(item)])
        }
    };
    table.insert((*name).to_owned(), under);
}

/// Removes the value at a path such as `run`, `jobs`. A removed item of a list leaves an empty table, so
/// that the other items keep their indexes.
pub(super) fn remove_value(table: &mut Table, path: &[SettingPathStep<'_>]) {
    match path {
        [SettingPathStep::Key(name)] => {
            table.remove(*name);
        }
        [SettingPathStep::Key(name), SettingPathStep::Key(_), ..] => {
            if let Some(Value::Table(under)) = table.get_mut(*name) {
                remove_value(under, &path[1..]);
            }
        }
        [SettingPathStep::Key(name), SettingPathStep::Item(at), rest @ ..] => {
            let item = table.get_mut(*name).and_then(|list| list.get_mut(*at));
            match (item, rest) {
                (Some(item), []) => *item = Value::Table(Table::new()),
                (Some(Value::Table(item)), rest) => remove_value(item, rest),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Calls `act` for each value that is not a table, with its path; for each element of a list; and for the
/// values of tables in a list, with the index in the path: `job.0.run`.
fn for_each_value(table: &mut Table, before: &str, act: &mut dyn FnMut(&str, &mut Value)) {
    for (name, value) in table {
        let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
        match value {
            Value::Table(under) => for_each_value(under, &path, act),
            Value::Array(values) => {
                for (at, value) in values.iter_mut().enumerate() {
                    match value {
                        Value::Table(item) => for_each_value(item, &format!("{path}.{at}"), act),
                        value => act(&path, value),
                    }
                }
            }
            value => act(&path, value),
        }
    }
}

fn syntax_problem(place: &str, text: &str, error: &toml::de::Error) -> InputProblem {
    let problem = InputProblem::at_place(Code::ConfigParseError, place, error.message());
    match error.span() {
        Some(span) => problem.with_position(text, span.start),
        None => problem,
    }
}
