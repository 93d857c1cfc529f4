//! Finds all problems in a settings file with their positions: unknown keys, and values of the wrong type.
//! They are reported at once, so that a person need not mend a file in rounds.

use serde::Deserialize as _;
use toml::de::{DeString, DeTable, DeValue, Deserializer};
use toml::{Spanned, Table};
use unstuck_core::fault::Code;
use unstuck_core::nearest::find_nearest;

use super::job;
use super::keys::{
    SettingKeys, SettingPathStep, find_value, insert_value, remove_value, render_path,
};
use super::sections::Settings;
use crate::error::near_hint;
use crate::problem::InputProblem;

/// The steps of a path to a value, as written in the file.
type WrittenPath<'i> = Vec<WrittenStep<'i>>;

/// A step of a path.
#[derive(Clone)]
enum WrittenStep<'i> {
    Key(Spanned<DeString<'i>>),
    /// The index in a list of tables.
    Item(usize),
}

/// Removes all unusable values from `table`, which holds the parsed file with variables expanded, and
/// returns the problems in the order of the file.
pub(super) fn remove_unusable(
    place: &str,
    text: &str,
    read: &DeTable<'_>,
    table: &mut Table,
) -> Vec<InputProblem> {
    let is_readable = Settings::deserialize(table.clone()).is_ok();
    let mut look = SettingsCheck { place, text, table, problems: Vec::new() };
    // The keys are listed only for a file with a problem, because that takes time.
    if !is_readable {
        look.check_table(read, &SettingKeys::all(), &mut Vec::new());
    }
    look.check_jobs(read);
    look.problems.sort_by_key(|problem| (problem.line, problem.column));
    look.problems
}

struct SettingsCheck<'a> {
    place: &'a str,
    text: &'a str,
    table: &'a mut Table,
    problems: Vec<InputProblem>,
}

impl SettingsCheck<'_> {
    fn check_table<'i>(
        &mut self,
        read: &DeTable<'i>,
        keys: &SettingKeys,
        path: &mut WrittenPath<'i>,
    ) {
        for (name, value) in read {
            path.push(WrittenStep::Key(name.clone()));
            match (keys.get(name.get_ref()), value.get_ref()) {
                (None, _) => self.report_unknown(name, path, keys),
                (Some(under), DeValue::Table(read)) if !under.is_value() => {
                    self.check_table(read, under, path);
                }
                (Some(under), DeValue::Array(items)) if under.items().is_some() => {
                    self.check_items(items, under, path);
                }
                // Tables with names that a person chose are checked one by one.
                (Some(_), DeValue::Table(named)) if !named.is_empty() => {
                    for (name, value) in named {
                        path.push(WrittenStep::Key(name.clone()));
                        self.check_value(path, value);
                        path.pop();
                    }
                }
                (Some(_), _) => self.check_value(path, value),
            }
            path.pop();
        }
    }

    fn check_items<'i>(
        &mut self,
        items: &[Spanned<DeValue<'i>>],
        keys: &SettingKeys,
        path: &mut WrittenPath<'i>,
    ) {
        let Some(keys) = keys.items() else { return };
        for (at, item) in items.iter().enumerate() {
            path.push(WrittenStep::Item(at));
            match item.get_ref() {
                DeValue::Table(read) => self.check_table(read, keys, path),
                _ => self.check_value(path, item),
            }
            path.pop();
        }
    }

    /// Checks that each job has its required keys and a unique name.
    fn check_jobs(&mut self, read: &DeTable<'_>) {
        let Some(DeValue::Array(items)) = read.get("job").map(Spanned::get_ref) else { return };
        let mut names: Vec<String> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let DeValue::Table(written) = item.get_ref() else { continue };
            let name = written.get("name").and_then(|name| name.get_ref().as_str());
            let span = written.get("name").map_or_else(|| item.span(), Spanned::span);
            for (message, hint) in
                job::find_job_problems(at, name, &names, |key| written.contains_key(key))
            {
                let problem = InputProblem::at_place(Code::ConfigInvalid, self.place, message)
                    .with_hint(hint);
                self.problems.push(problem.with_position(self.text, span.start).with_field("job"));
            }
            names.extend(name.map(str::to_owned));
        }
    }

    fn report_unknown(
        &mut self,
        name: &Spanned<DeString<'_>>,
        path: &WrittenPath<'_>,
        keys: &SettingKeys,
    ) {
        let steps = path_steps(path);
        let near = find_nearest(name.get_ref(), keys.names());
        let said = render_path(self.table, &steps);
        remove_value(self.table, &steps);
        let message = format!("there is no setting {said}");
        let problem = InputProblem::at_place(Code::ConfigInvalid, self.place, message);
        let problem = problem.with_position(self.text, name.span().start).with_field(said);
        let all = || "`unstuck config` lists all settings".to_owned();
        self.problems.push(problem.with_hint(near_hint(&near).unwrap_or_else(all)));
    }

    fn check_value(&mut self, path: &WrittenPath<'_>, read: &Spanned<DeValue<'_>>) {
        let steps = path_steps(path);
        let Some(value) = find_value(self.table, &steps) else { return };
        let mut alone = Table::new();
        insert_value(&mut alone, &steps, value.clone());
        let Err(error) = Settings::deserialize(alone) else { return };
        let said = render_path(self.table, &steps);
        remove_value(self.table, &steps);
        // Deserialized as written: the position is known, and the value of a variable is not shown.
        let written = Deserializer::from(alone_as_written(path, read, self.text.len()));
        let error = Settings::deserialize(written).err().unwrap_or(error);
        let message = format!("{said}: {}", plain_message(error.message()));
        let at = error.span().unwrap_or_else(|| read.span()).start;
        let problem = InputProblem::at_place(Code::ConfigInvalid, self.place, message);
        self.problems.push(problem.with_position(self.text, at).with_field(said));
    }
}

fn path_steps<'a>(path: &'a WrittenPath<'_>) -> Vec<SettingPathStep<'a>> {
    let step = |written: &'a WrittenStep<'_>| match written {
        WrittenStep::Key(name) => SettingPathStep::Key(name.get_ref()),
        WrittenStep::Item(at) => SettingPathStep::Item(*at),
    };
    path.iter().map(step).collect()
}

/// Returns a file that holds only this value.
fn alone_as_written<'i>(
    path: &WrittenPath<'i>,
    value: &Spanned<DeValue<'i>>,
    length: usize,
) -> Spanned<DeTable<'i>> {
    let mut value = value.clone();
    for (at, step) in path.iter().enumerate().rev() {
        let span = value.span();
        value = match step {
            WrittenStep::Item(_) => {
                let list = std::iter::once(value).collect();
                Spanned::new(span, DeValue::Array(list))
            }
            WrittenStep::Key(name) => {
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

/// Returns the message of the parser about a wrong value, in words for the person who wrote it.
pub(super) fn plain_message(message: &str) -> String {
    if let Some((word, known)) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        let known = known.trim_start_matches("one of ").replace('`', "");
        return format!("there is no “{word}”; write one of: {}", known.replace(" or ", ", "));
    }
    if message == "invalid socket address syntax" {
        return "write an address with a port, such as \"127.0.0.1:7424\"".to_owned();
    }
    let wrong = message.starts_with("invalid type") || message.starts_with("invalid value");
    let wanted = match message.rsplit_once(", expected ").filter(|_| wrong).map(|(_, what)| what) {
        Some("u8" | "u16" | "u32" | "u64" | "usize") => "a whole number, 0 or more",
        Some("i32" | "i64") => "a whole number",
        Some("f32" | "f64") => "a number",
        Some("a boolean") => "true or false",
        Some("a string") => "a text in quotes",
        Some("a sequence") => "a list, such as [\"a\", \"b\"]",
        Some("struct SpendingCap") => "a table, such as { money = \"$2.50\" }",
        _ => return message.to_owned(),
    };
    let value = message.split_once(": string \"");
    match value.and_then(|(_, rest)| rest.split_once("\", expected ")) {
        // A longer one may contain a secret.
        Some((value, _)) if value.chars().count() <= QUOTED_CHARS_MAX => {
            format!("write {wanted}, instead of “{value}”")
        }
        _ => format!("write {wanted}"),
    }
}

/// Maximum length of a wrong value that is quoted.
const QUOTED_CHARS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_value_is_told_without_words_of_the_parser() {
        let said = [
            (
                "invalid type: string \"two\", expected u32",
                "write a whole number, 0 or more, instead of “two”",
            ),
            ("invalid value: integer `-1`, expected u32", "write a whole number, 0 or more"),
            (
                "invalid type: string \"$2\", expected struct SpendingCap",
                "write a table, such as { money = \"$2.50\" }, instead of “$2”",
            ),
            (
                "invalid socket address syntax",
                "write an address with a port, such as \"127.0.0.1:7424\"",
            ),
            (
                "unknown variant `strict`, expected `green` or `compare`",
                "there is no “strict”; write one of: green, compare",
            ),
            ("nothing can be spent like this", "nothing can be spent like this"),
        ];
        for (message, told) in said {
            assert_eq!(plain_message(message), told);
        }
    }
}
