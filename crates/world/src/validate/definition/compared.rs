//! Compares the parts of shared files that define a check with the same parts before the work: the
//! scripts of a manifest, and the settings of tools in files that hold other things too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::follow::{find_scripts_run, follow_in_folder, list_lines_of_folders};
use super::tables::RUNNERS;

/// Returns the manifests whose scripts these commands run in the project at `root`, with the names of the
/// scripts, and the files with the settings of tools.
pub(in crate::validate) fn list_compared_files(
    root: &Path,
    commands: &[String],
) -> Vec<(PathBuf, Option<String>)> {
    let mut places = vec![(PathBuf::new(), commands.to_vec())];
    let lines = follow_in_folder(root, commands).1;
    places.extend(
        list_lines_of_folders(root, &lines).into_iter().map(|(folder, line)| (folder, vec![line])),
    );
    let mut compared = Vec::new();
    for (folder, commands) in places {
        let scripts = find_scripts_run(&commands).into_iter();
        compared.extend(scripts.map(|(file, script)| (folder.join(file), Some(script))));
        compared.extend(SHARED_SETTINGS.map(|file| (folder.join(file), None)));
    }
    compared
}

/// Returns whether a manifest defines a script, or one that it runs in turn, differently from its
/// base.
pub(in crate::validate) fn scripts_differ(script: &str, base: &[u8], now: &[u8]) -> bool {
    let read = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap_or_default() };
    let base = read(base);
    let now = read(now);
    if RUNNERS.iter().any(|runner| base[runner] != now[runner]) {
        return true;
    }
    let mut wanted = vec![script.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        for name in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            let was = &base["scripts"][&name];
            if *was != now["scripts"][&name] {
                return true;
            }
            if let Value::String(line) = was {
                wanted.extend(
                    find_scripts_run(std::slice::from_ref(line)).into_iter().map(|(_, s)| s),
                );
            }
        }
    }
    false
}

/// Files with the settings of many tools, beside what the project is.
const SHARED_SETTINGS: [&str; 3] = ["pyproject.toml", "setup.cfg", "package.json"];
/// Keys of `package.json` with the settings of a tool, each with its program.
const PACKAGE_SETTINGS: [(&str, &str); 8] = [
    ("eslintConfig", "eslint"),
    ("eslintIgnore", "eslint"),
    ("prettier", "prettier"),
    ("stylelint", "stylelint"),
    ("nyc", "nyc"),
    ("c8", "c8"),
    ("xo", "xo"),
    ("commitlint", "commitlint"),
];

/// Returns whether such a file has other settings than its base for a tool that one of these commands names.
pub(in crate::validate) fn tool_settings_differ(
    file: &Path,
    lines: &[String],
    (base, now): (&[u8], &[u8]),
) -> bool {
    let base = read_tool_settings(file, base);
    let now = read_tool_settings(file, now);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let named: BTreeSet<&str> = lines.iter().flat_map(|line| line.split(|c| !is_part(c))).collect();
    let tools: BTreeSet<&String> = base.keys().chain(now.keys()).collect();
    tools.into_iter().any(|tool| named.contains(tool.as_str()) && base.get(tool) != now.get(tool))
}

/// Reads the settings of each tool: the tables below `[tool]`, or the sections of a file in the older form.
fn read_tool_settings(file: &Path, bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let ending = file.extension().and_then(|ending| ending.to_str());
    if ending == Some("toml") {
        let settings = text.parse::<toml::Table>().unwrap_or_default();
        let tools = settings.get("tool").and_then(toml::Value::as_table).into_iter().flatten();
        return tools.map(|(name, table)| (name.clone(), table.to_string())).collect();
    }
    if ending == Some("json") {
        let manifest: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let text = |key: &str| manifest.get(key).map(Value::to_string).unwrap_or_default();
        let mut tools: BTreeMap<String, String> = BTreeMap::new();
        for (key, tool) in PACKAGE_SETTINGS {
            tools.entry(tool.to_owned()).or_default().push_str(&text(key));
        }
        return tools;
    }
    let mut sections: BTreeMap<String, String> = BTreeMap::new();
    let mut tool = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.strip_prefix("tool:").unwrap_or(name);
            name.split([':', '-', '.']).next().unwrap_or_default().clone_into(&mut tool);
        }
        let section = sections.entry(tool.clone()).or_default();
        section.push_str(line.trim_end());
        section.push('\n');
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    // B2: a dependency is work, and a setting of the tool that judges it is none
    #[test]
    fn only_the_settings_of_a_named_tool_differ() {
        let lines =
            ["make lint".to_owned(), "ruff check .".to_owned(), "python3 -m flake8".to_owned()];
        let differ = |base: &str, now: &str| {
            let file = if base.contains("[flake8]") { "setup.cfg" } else { "pyproject.toml" };
            tool_settings_differ(Path::new(file), &lines, (base.as_bytes(), now.as_bytes()))
        };
        let base =
            "[project]\nname = \"x\"\n[tool.ruff]\nline-length = 80\n[tool.mypy]\nstrict = true\n";
        assert!(differ(base, &base.replace("80", "800")));
        assert!(differ("[project]\nname = \"x\"\n", base));
        assert!(!differ(base, &base.replace("true", "false")), "no check runs mypy");
        assert!(!differ(base, &base.replace("\"x\"", "\"y\"")));
        let base = "[metadata]\nname = x\n\n[flake8]\nmax-line-length = 80\n";
        assert!(differ(base, &base.replace("80", "800")));
        assert!(!differ(base, &base.replace("name = x", "name = y")));
        let package = |now: &str| {
            let base = r#"{"name": "x", "eslintConfig": {"rules": {}}}"#;
            tool_settings_differ(
                Path::new("package.json"),
                &["eslint .".to_owned()],
                (base.as_bytes(), now.as_bytes()),
            )
        };
        assert!(package(r#"{"name": "x", "eslintConfig": {"rules": {"x": 0}}}"#));
        assert!(!package(r#"{"name": "y", "prettier": {}, "eslintConfig": {"rules": {}}}"#));
    }

    #[test]
    fn a_script_that_is_run_may_not_change_and_others_may() {
        let base = br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc"}}"#;
        let table = [
            (&br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc -b"},"dependencies":{"a":"1"}}"#[..], false),
            (br#"{"scripts":{"test":"true","unit":"vitest run","build":"tsc"}}"#, true),
            (br#"{"scripts":{"test":"npm run unit","unit":"true","build":"tsc"}}"#, true),
            (br#"{"jest":{"testMatch":[]},"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc"}}"#, true),
            (br#"{"scripts":{"pretest":"exit 0","test":"npm run unit","unit":"vitest run"}}"#, true),
            (b"{", true),
        ];
        for (now, differ) in table {
            assert_eq!(scripts_differ("test", base, now), differ, "{}", now.escape_ascii());
        }
        let run = |line: &str| find_scripts_run(&[line.to_owned()]);
        let test = vec![("package.json", "test".to_owned())];
        for line in ["npm test", "npm run test", "CI=1 pnpm -s test", "yarn test --ci", "npm t"] {
            assert_eq!(run(line), test, "{line}");
        }
    }
}
