//! Generates the reference of all settings in the guide from the schema, and tests that the page is
//! current; `UNSTUCK_WRITE_DOCS=1 cargo test -p unstuck reference` writes it.

use std::fmt::Write as _;
use std::{env, fs};

use serde_json::Value;
use toml::Table;

use super::job::JobSettings;
use super::keys::settings_schema;
use super::sections::Settings;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/configuration.md");

const HEAD: &str = "\
# Settings

`unstuck.toml` at the root of the project. Options win over `UNSTUCK_*` variables (`UNSTUCK_RUN_JOBS` is `run.jobs`),
those over the project's file, that over your own `unstuck.toml` in `~/.config/unstuck/`, and that over the defaults.
`unstuck config` shows what came of it and where each value comes from. `${NAME}` in a text is replaced by that variable.
An unknown key is refused with the nearest known one. `unstuck schema` writes the JSON schema for your editor.

Lengths of time are written as `90s`, `10m`, `2h` or `1d`, money as `\"$2.50\"`.

<!-- Written from the program; do not edit. -->
";

/// Facts about jobs that the schema cannot express.
const JOBS: &str = "\
Each begins with `[[job]]`, or has a file of its own in `jobs/` whose front matter has these keys and whose text is the
goal. `name` and `run` are needed. See [jobs](jobs.md).
";

#[test]
fn the_reference_in_the_guide_is_fresh() {
    let page = reference();
    if env::var_os("UNSTUCK_WRITE_DOCS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let there = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(there == page, "docs/guide/configuration.md is not fresh: see this file's head");
}

fn reference() -> String {
    let schema = settings_schema();
    let defaults = Table::try_from(Settings::default()).unwrap();
    let mut page = HEAD.to_owned();
    for (name, section) in schema["properties"].as_object().unwrap() {
        let words = section["description"].as_str().unwrap();
        write!(page, "\n## {name}\n\n{words}\n").unwrap();
        if let Some(item) = section.get("items").filter(|item| item.get("properties").is_some()) {
            let job = toml::Value::try_from(JobSettings::default()).unwrap();
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

fn rows(page: &mut String, section: &Value, defaults: Option<&toml::Value>, before: &str) {
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
fn words(key: &Value) -> String {
    let mut text = one_line(key["description"].as_str().unwrap());
    let nested = ["oneOf", "anyOf"].iter().filter_map(|of| key[of].as_array()).flatten();
    let choices: Vec<&Value> = nested
        .flat_map(|of| of["oneOf"].as_array().map_or_else(|| vec![of], |all| all.iter().collect()))
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
