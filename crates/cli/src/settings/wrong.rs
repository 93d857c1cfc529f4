//! Everything that is wrong in a file, each with its place: keys that nobody knows, and values of the
//! wrong kind. All of it is told at once, so that nobody mends a file in rounds.

use serde::Deserialize as _;
use toml::de::{DeString, DeTable, DeValue, Deserializer};
use toml::{Spanned, Table, Value};
use unstuck_core::fault::Code;
use unstuck_core::nearest::nearest;

use super::keys::Keys;
use super::layer::{insert, take};
use super::sections::Settings;
use crate::problem::Problem;

/// The names that lead to a value.
type Path<'a, 'i> = Vec<&'a Spanned<DeString<'i>>>;

/// Takes everything that cannot be used out of `table`, which holds what was read with variables put
/// in, and tells what that was, from the top of the file to its end.
pub(super) fn take_out(
    place: &str,
    text: &str,
    read: &DeTable<'_>,
    table: &mut Table,
) -> Vec<Problem> {
    // Which keys there are is worth finding out only for a file that has something wrong.
    if Settings::deserialize(table.clone()).is_ok() {
        return Vec::new();
    }
    let mut look = Look { place, text, table, problems: Vec::new() };
    look.at(read, &Keys::all(), &mut Vec::new());
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
    fn at<'d, 'i>(&mut self, read: &'d DeTable<'i>, keys: &Keys, path: &mut Path<'d, 'i>) {
        for (name, value) in read {
            path.push(name);
            match (keys.under(name.get_ref()), value.get_ref()) {
                (None, _) => self.unknown(path, keys),
                (Some(under), DeValue::Table(read)) if !under.is_value() => {
                    self.at(read, under, path);
                }
                // Things with names of a person's choice are read one by one.
                (Some(_), DeValue::Table(named)) if !named.is_empty() => {
                    for (name, value) in named {
                        path.push(name);
                        self.value(path, value);
                        path.pop();
                    }
                }
                (Some(_), _) => self.value(path, value),
            }
            path.pop();
        }
    }

    fn unknown(&mut self, path: &Path<'_, '_>, keys: &Keys) {
        let Some(name) = path.last() else { return };
        let (names, near) = (names(path), nearest(name.get_ref(), keys.names()));
        take(self.table, &names);
        let message = format!("there is no setting {}", names.join("."));
        let problem = Problem::at(Code::ConfigInvalid, self.place, message);
        let problem = problem.in_text(self.text, name.span().start).about(names.join("."));
        self.problems.push(if near.is_empty() {
            problem.hinting("`unstuck config` lists all settings")
        } else {
            problem.hinting(format!("did you mean {}?", near.join(" or ")))
        });
    }

    fn value(&mut self, path: &Path<'_, '_>, read: &Spanned<DeValue<'_>>) {
        let names = names(path);
        let Some(value) = find(self.table, &names) else { return };
        let mut alone = Table::new();
        insert(&mut alone, &names, value.clone());
        let Err(error) = Settings::deserialize(alone) else { return };
        take(self.table, &names);
        // As it was written: the place is known, and what a variable holds is not shown.
        let written = Deserializer::from(alone_as_written(path, read, self.text.len()));
        let error = Settings::deserialize(written).err().unwrap_or(error);
        let message = format!("{}: {}", names.join("."), error.message());
        let at = error.span().unwrap_or_else(|| read.span()).start;
        let problem = Problem::at(Code::ConfigInvalid, self.place, message);
        self.problems.push(problem.in_text(self.text, at).about(names.join(".")));
    }
}

fn names<'a>(path: &Path<'a, '_>) -> Vec<&'a str> {
    path.iter().map(|name| name.get_ref().as_ref()).collect()
}

fn find<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    match path {
        [] => None,
        [name] => table.get(*name),
        [name, rest @ ..] => find(table.get(*name)?.as_table()?, rest),
    }
}

/// A file with this value alone.
fn alone_as_written<'i>(
    path: &Path<'_, 'i>,
    value: &Spanned<DeValue<'i>>,
    length: usize,
) -> Spanned<DeTable<'i>> {
    let mut value = value.clone();
    for (at, name) in path.iter().enumerate().rev() {
        let mut table = DeTable::new();
        table.insert((*name).clone(), value);
        if at == 0 {
            return Spanned::new(0..length, table);
        }
        value = Spanned::new(name.span(), DeValue::Table(table));
    }
    Spanned::new(0..length, DeTable::new())
}
