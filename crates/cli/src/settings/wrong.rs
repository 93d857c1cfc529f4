//! Finds all problems in a settings file with their positions: unknown keys, and values of the wrong type.
//! They are reported at once, so that a person need not mend a file in rounds.

use serde::Deserialize as _;
use toml::de::{DeString, DeTable, DeValue, Deserializer};
use toml::{Spanned, Table};
use unstuck_core::fault::Code;
use unstuck_core::nearest::nearest;

use super::job;
use super::keys::Keys;
use super::layer::{Step, find, insert, said, take};
use super::sections::Settings;
use crate::problem::Problem;

/// The steps of a path to a value, as written in the file.
type Path<'i> = Vec<Written<'i>>;

/// A step of a path.
#[derive(Clone)]
enum Written<'i> {
    Key(Spanned<DeString<'i>>),
    /// The index in a list of tables.
    Item(usize),
}

/// Removes all unusable values from `table`, which holds the parsed file with variables expanded, and
/// returns the problems in the order of the file.
pub(super) fn take_out(
    place: &str,
    text: &str,
    read: &DeTable<'_>,
    table: &mut Table,
) -> Vec<Problem> {
    // The keys are listed only for a file with a problem, because that takes time.
    if Settings::deserialize(table.clone()).is_ok() {
        return Vec::new();
    }
    let mut look = Look { place, text, table, problems: Vec::new() };
    look.at(read, &Keys::all(), &mut Vec::new());
    look.jobs(read);
    look.problems.sort_by_key(|problem| (problem.line, problem.column));
    look.problems
}

struct Look<'a> {
    place: &'a str,
    text: &'a str,
    table: &'a mut Table,
    problems: Vec<Problem>,
}

impl Look<'_> {
    fn at<'i>(&mut self, read: &DeTable<'i>, keys: &Keys, path: &mut Path<'i>) {
        for (name, value) in read {
            path.push(Written::Key(name.clone()));
            match (keys.under(name.get_ref()), value.get_ref()) {
                (None, _) => self.unknown(name, path, keys),
                (Some(under), DeValue::Table(read)) if !under.is_value() => {
                    self.at(read, under, path);
                }
                (Some(under), DeValue::Array(items)) if under.items().is_some() => {
                    self.items(items, under, path);
                }
                // Tables with names that a person chose are checked one by one.
                (Some(_), DeValue::Table(named)) if !named.is_empty() => {
                    for (name, value) in named {
                        path.push(Written::Key(name.clone()));
                        self.value(path, value);
                        path.pop();
                    }
                }
                (Some(_), _) => self.value(path, value),
            }
            path.pop();
        }
    }

    /// Checks each table of a list.
    fn items<'i>(&mut self, items: &[Spanned<DeValue<'i>>], keys: &Keys, path: &mut Path<'i>) {
        let Some(keys) = keys.items() else { return };
        for (at, item) in items.iter().enumerate() {
            path.push(Written::Item(at));
            match item.get_ref() {
                DeValue::Table(read) => self.at(read, keys, path),
                _ => self.value(path, item),
            }
            path.pop();
        }
    }

    /// Checks that each job has its required keys and a unique name.
    fn jobs(&mut self, read: &DeTable<'_>) {
        let Some(DeValue::Array(items)) = read.get("job").map(Spanned::get_ref) else { return };
        let mut names: Vec<String> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let DeValue::Table(written) = item.get_ref() else { continue };
            let name = written.get("name").and_then(|name| name.get_ref().as_str());
            let span = written.get("name").map_or_else(|| item.span(), Spanned::span);
            for (message, hint) in job::lacks(at, name, &names, |key| written.contains_key(key)) {
                let problem = Problem::at(Code::ConfigInvalid, self.place, message).hinting(hint);
                self.problems.push(problem.in_text(self.text, span.start).about("job"));
            }
            names.extend(name.map(str::to_owned));
        }
    }

    fn unknown(&mut self, name: &Spanned<DeString<'_>>, path: &Path<'_>, keys: &Keys) {
        let steps = steps(path);
        let near = nearest(name.get_ref(), keys.names());
        let said = said(self.table, &steps);
        take(self.table, &steps);
        let message = format!("there is no setting {said}");
        let problem = Problem::at(Code::ConfigInvalid, self.place, message);
        let problem = problem.in_text(self.text, name.span().start).about(said);
        self.problems.push(if near.is_empty() {
            problem.hinting("`unstuck config` lists all settings")
        } else {
            problem.hinting(format!("did you mean {}?", near.join(" or ")))
        });
    }

    fn value(&mut self, path: &Path<'_>, read: &Spanned<DeValue<'_>>) {
        let steps = steps(path);
        let Some(value) = find(self.table, &steps) else { return };
        let mut alone = Table::new();
        insert(&mut alone, &steps, value.clone());
        let Err(error) = Settings::deserialize(alone) else { return };
        let said = said(self.table, &steps);
        take(self.table, &steps);
        // Deserialized as written: the position is known, and the value of a variable is not shown.
        let written = Deserializer::from(alone_as_written(path, read, self.text.len()));
        let error = Settings::deserialize(written).err().unwrap_or(error);
        let message = format!("{said}: {}", error.message());
        let at = error.span().unwrap_or_else(|| read.span()).start;
        let problem = Problem::at(Code::ConfigInvalid, self.place, message);
        self.problems.push(problem.in_text(self.text, at).about(said));
    }
}

fn steps<'a>(path: &'a Path<'_>) -> Vec<Step<'a>> {
    let step = |written: &'a Written<'_>| match written {
        Written::Key(name) => Step::Key(name.get_ref()),
        Written::Item(at) => Step::Item(*at),
    };
    path.iter().map(step).collect()
}

/// Returns a file that holds only this value.
fn alone_as_written<'i>(
    path: &Path<'i>,
    value: &Spanned<DeValue<'i>>,
    length: usize,
) -> Spanned<DeTable<'i>> {
    let mut value = value.clone();
    for (at, step) in path.iter().enumerate().rev() {
        let span = value.span();
        value = match step {
            Written::Item(_) => {
                let list = std::iter::once(value).collect();
                Spanned::new(span, DeValue::Array(list))
            }
            Written::Key(name) => {
                let mut table = DeTable::new();
                table.insert(name.clone(), value);
                if at == 0 {
                    return Spanned::new(0..length, table);
                }
                Spanned::new(name.span(), DeValue::Table(table))
            }
        };
    }
    Spanned::new(0..length, DeTable::new())
}
