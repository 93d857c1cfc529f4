//! The keys of the settings, derived from the schema so that no second list is needed, and the paths to values
//! in tables.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Schema};
use toml::{Table, Value};

use super::sections::Settings;

/// Returns the JSON schema of the settings, without references: each key holds its own description.
pub(crate) fn settings_schema() -> Schema {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Settings>().to_value()
}

/// A group of keys, or a single value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SettingKeys {
    keys: BTreeMap<String, SettingKeys>,
    /// The keys of each table, for a list of tables.
    items: Option<Box<SettingKeys>>,
}

impl SettingKeys {
    pub(super) fn all() -> Self {
        Self::from_schema(&settings_schema())
    }

    fn from_schema(schema: &Schema) -> Self {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Schema::as_object).unwrap_or(&none);
        let items = schema.get("items").map(Self::from_schema).filter(|items| !items.is_value());
        Self {
            keys: properties
                .iter()
                .map(|(name, of)| (name.clone(), Self::from_schema(of)))
                .collect(),
            items: items.map(Box::new),
        }
    }

    /// Returns the keys of each table, for a list of tables.
    pub(super) fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// Returns the group under a name; a key that holds a value has an empty group.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.keys.get(name)
    }

    pub(super) fn is_value(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Returns the paths of all values, such as `run.jobs`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, before: &str, paths: &mut Vec<String>) {
        for (name, under) in &self.keys {
            let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
            if under.is_value() {
                paths.push(path);
            } else {
                under.collect_paths(&path, paths);
            }
        }
    }
}

/// A step of a path to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingPathStep<'a> {
    Key(&'a str),
    /// The index in a list of tables.
    Item(usize),
}

/// Splits a path such as `run.jobs` into steps.
pub(super) fn split_path(path: &str) -> Vec<SettingPathStep<'_>> {
    path.split('.').map(SettingPathStep::Key).collect()
}

/// Splits a path into steps, where a number below a list is an index.
pub(super) fn split_path_in<'p>(table: &Table, path: &'p str) -> Vec<SettingPathStep<'p>> {
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::{env, fs};

    use super::*;
    use crate::settings::job::JobSettings;

    #[test]
    fn every_key_is_there_and_has_its_words() {
        let paths = SettingKeys::all().paths();
        for known in ["agent.provider", "run.jobs", "budget.per_day.money", "retry.transient_for"] {
            assert!(paths.iter().any(|path| path == known), "{known} in {paths:?}");
        }
        let schema = settings_schema();
        for path in paths {
            let mut here = &schema;
            for name in path.split('.') {
                here = &here["properties"][name];
            }
            assert!(here["description"].is_string(), "{path} has no words: {here}");
        }
    }

    /// The reference of all settings, written from the schema.
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/configuration.md");

    const HEAD: &str = "\
# Settings

`unstuck.toml` at the root of the project. Options override `UNSTUCK_*` variables (`UNSTUCK_RUN_JOBS` is `run.jobs`),
which override the project's file, which overrides your own `unstuck.toml` in `~/.config/unstuck/`, which overrides the
defaults. `unstuck config` shows each resolved value and where it comes from. `${NAME}` in a text is replaced by that
variable. An unknown key is refused with the nearest known one. `unstuck schema` writes the JSON schema for your editor.

Durations are written as `90s`, `10m`, `2h` or `1d`, money as `\"$2.50\"`.

<!-- Generated by the program; do not edit. -->
";

    /// Facts about jobs that the schema cannot express.
    const JOBS: &str = "\
Each begins with `[[job]]`, or has a file of its own in `jobs/` whose front matter has these keys and whose text is the
goal. `name` and `run` are required. See [jobs](jobs.md).
";

    #[test]
    fn the_reference_in_the_guide_is_fresh() {
        let page = reference();
        if env::var_os("UNSTUCK_WRITE_DOCS").is_some() {
            fs::write(PAGE, &page).unwrap();
        }
        let there = fs::read_to_string(PAGE).unwrap_or_default();
        let write = "`UNSTUCK_WRITE_DOCS=1 cargo test -p unstuck reference` writes it";
        assert!(there == page, "docs/guide/configuration.md is not fresh: {write}");
    }

    fn reference() -> String {
        let schema = settings_schema();
        let defaults = Table::try_from(Settings::default()).unwrap();
        let mut page = HEAD.to_owned();
        for (name, section) in schema["properties"].as_object().unwrap() {
            let words = section["description"].as_str().unwrap();
            write!(page, "\n## {name}\n\n{words}\n").unwrap();
            if let Some(item) = section.get("items").filter(|item| item.get("properties").is_some())
            {
                let job = Value::try_from(JobSettings::default()).unwrap();
                page.push_str(JOBS);
                page.push_str("\n| key | default | |\n| --- | --- | --- |\n");
                rows(&mut page, item, Some(&job), "");
                continue;
            }
            if section.get("properties").is_none() {
                page.push_str("See [notifications](notifications.md).\n");
                continue;
            }
            page.push_str("\n| key | default | |\n| --- | --- | --- |\n");
            rows(&mut page, section, defaults.get(name), "");
        }
        page
    }

    fn rows(page: &mut String, section: &Schema, defaults: Option<&Value>, before: &str) {
        for (name, key) in section["properties"].as_object().unwrap() {
            let path = format!("{before}{name}");
            let default = defaults.and_then(|all| all.get(name));
            if key.get("properties").is_some() {
                rows(page, key, default, &format!("{path}."));
                continue;
            }
            let default = default.map_or_else(|| "–".to_owned(), |value| format!("`{value}`"));
            writeln!(page, "| `{path}` | {default} | {} |", words(key)).unwrap();
        }
    }

    /// Formats the description of a key, with its choices.
    fn words(key: &Schema) -> String {
        let mut text = one_line(key["description"].as_str().unwrap());
        let nested = ["oneOf", "anyOf"].iter().filter_map(|of| key[of].as_array()).flatten();
        let choices: Vec<&Schema> = nested
            .flat_map(|of| {
                of["oneOf"].as_array().map_or_else(|| vec![of], |all| all.iter().collect())
            })
            .collect();
        for choice in choices {
            if let (Some(name), Some(means)) =
                (choice["const"].as_str(), choice["description"].as_str())
            {
                write!(text, "<br>`\"{name}\"`: {}", one_line(means)).unwrap();
            }
        }
        text
    }

    fn one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
    }
}
