//! A single source of settings: a file, whose texts may hold `${VAR}`, the environment, or the command line.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::Deserialize as _;
use toml::de::DeTable;
use toml::{Table, Value};
use unstuck_core::fault::Code;

use super::keys::{insert_value, remove_value, render_path, split_path, split_path_in};
use super::sections::Settings;
use super::wrong;
use crate::problem::InputProblem;

/// Maximum size of a settings file.
pub(super) const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Maximum number of expansions in one file.
pub(super) const EXPANSIONS_MAX: usize = 256;
/// Maximum length of an expanded text.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// The built-in default.
    Default,
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
        let unset = layer.expand_all((place, text), variable);
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
        let message = first.map_or_else(String::new, |error| wrong::plain_message(error.message()));
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
        (place, whole): (&str, &str),
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<(String, InputProblem)> {
        let mut unset = Vec::new();
        let mut written = Vec::new();
        let mut left = EXPANSIONS_MAX;
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
            let named = missing.variable().and_then(|name| whole.find(&format!("${{{name}")));
            let problem = match named {
                Some(at) => problem.with_position(whole, at),
                None => problem,
            };
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
    let message = describe_duplicate(text, error).unwrap_or_else(|| error.message().to_owned());
    let problem = InputProblem::at_place(Code::ConfigParseError, place, message);
    match error.span() {
        Some(span) => problem.with_position(text, span.start),
        None => problem,
    }
}

/// Names a table or key that is there twice, and the line of the first.
fn describe_duplicate(text: &str, error: &toml::de::Error) -> Option<String> {
    let span = error.span().filter(|_| error.message().starts_with("duplicate key"))?;
    let name = text.get(span.clone())?.trim_matches(['"', '\'']);
    let first = |line: &str| {
        let line = line.trim();
        let table = line.strip_prefix('[').and_then(|rest| rest.split(']').next());
        table.or_else(|| line.split('=').next()).is_some_and(|key| {
            key.rsplit('.').next().unwrap_or(key).trim().trim_matches(['"', '\'']) == name
        })
    };
    let line = text.get(..span.start)?.lines().position(first)? + 1;
    Some(format!("{name} is there twice; the first is in line {line}"))
}

/// Reads a settings file of at most `bytes_max` bytes.
pub(super) fn read_file(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        let message = format!("it is longer than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// The reason why a text could not be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpandError {
    #[error("the variable {0} is not set")]
    Unset(String),
    #[error("`${{` is not closed; write `$${{` for the characters themselves")]
    Open,
    #[error("{0:?} is no name of a variable")]
    Name(String),
    #[error("more than {EXPANSIONS_MAX} variables, or more than {TEXT_BYTES_MAX} bytes of them")]
    TooMuch,
}

impl ExpandError {
    pub(super) const fn code(&self) -> Code {
        match self {
            Self::Unset(_) => Code::ConfigEnvVarMissing,
            Self::Open | Self::Name(_) => Code::ConfigParseError,
            Self::TooMuch => Code::ConfigInvalid,
        }
    }

    pub(super) fn variable(&self) -> Option<&str> {
        match self {
            Self::Unset(name) | Self::Name(name) => Some(name),
            Self::Open | Self::TooMuch => None,
        }
    }
}

/// Returns the text with its variables expanded, or `None` if it has none. The value of a variable is not
/// expanded again. `left` counts the remaining expansions of the file.
pub(super) fn expand_variables(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    left: &mut usize,
) -> Result<Option<String>, ExpandError> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let before = &rest[..at];
        let after = &rest[at + 2..];
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let (name, after) = after.split_once('}').ok_or(ExpandError::Open)?;
        out.push_str(&look_up_variable(name, variable, left)?);
        if out.len() > TEXT_BYTES_MAX {
            return Err(ExpandError::TooMuch);
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(Some(out))
}

fn look_up_variable(
    name: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    left: &mut usize,
) -> Result<String, ExpandError> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(first) || !name.chars().all(|c| first(c) || c.is_ascii_digit()) {
        return Err(ExpandError::Name(name.to_owned()));
    }
    *left = left.checked_sub(1).ok_or(ExpandError::TooMuch)?;
    variable(name).ok_or_else(|| ExpandError::Unset(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_in(text: &str) -> Result<Option<String>, ExpandError> {
        let known = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "B" => Some("${A}".to_owned()),
            "LONG" => Some("x".repeat(40_000)),
            _ => None,
        };
        expand_variables(text, &known, &mut 3)
    }

    #[test]
    fn a_table_that_is_there_twice_is_named_with_the_line_of_the_first() {
        let (_, problems) =
            SettingsLayer::from_file("a.toml", "[run]\njobs = 1\n\n[run]\n", &|_| None);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].ends_with("run is there twice; the first is in line 1"), "{said:?}");
    }

    // T4.23
    #[test]
    fn variables_are_put_in_once_and_everything_wrong_has_its_code() {
        let is = |text: &str| put_in(text).unwrap().unwrap_or_else(|| text.to_owned());
        assert_eq!(is("plain $A {A}"), "plain $A {A}");
        assert_eq!(is("<${A}-${A}>"), "<one-one>");
        assert_eq!(is("${B}"), "${A}", "what a variable holds is not looked at again");
        assert_eq!(is("$${A} and ${A}"), "${A} and one");
        let wrong = |text: &str| put_in(text).unwrap_err();
        assert_eq!(wrong("${NOT_SET}"), ExpandError::Unset("NOT_SET".to_owned()));
        assert_eq!(wrong("${NOT_SET}").code(), Code::ConfigEnvVarMissing);
        assert_eq!(wrong("${A"), ExpandError::Open);
        assert_eq!(wrong("${A B}"), ExpandError::Name("A B".to_owned()));
        assert_eq!(wrong("${}"), ExpandError::Name(String::new()));
        assert_eq!(wrong("${A}${A}${A}${A}"), ExpandError::TooMuch);
        assert_eq!(wrong("${LONG}${LONG}"), ExpandError::TooMuch);
    }
}
