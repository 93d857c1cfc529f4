//! Reading of scenario files. A problem is reported with its file and field.

use std::fmt;
use std::fs;
use std::path::Path;

use super::scenario::Scenario;
use super::sound;

/// A scenario file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The name of the file.
    pub file: String,
    /// The problem, with its field.
    pub wrong: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.wrong)
    }
}

impl std::error::Error for ScenarioError {}

/// Reads all scenarios of a folder, sorted by name.
pub fn read_scenarios(folder: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    let failed = |wrong: std::io::Error| ScenarioError {
        file: folder.display().to_string(),
        wrong: wrong.to_string(),
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|path| read_scenario(path)).collect()
}

fn read_scenario(path: &Path) -> Result<Scenario, ScenarioError> {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let text = fs::read_to_string(path)
        .map_err(|error| ScenarioError { file: file.clone(), wrong: error.to_string() })?;
    parse_scenario(&file, &text)
}

/// Parses a scenario file.
pub fn parse_scenario(file: &str, text: &str) -> Result<Scenario, ScenarioError> {
    let told = |wrong: String| ScenarioError { file: file.to_owned(), wrong };
    let mut scenario: Scenario =
        toml::from_str(text).map_err(|error| told(error.to_string().trim_end().to_owned()))?;
    file.trim_end_matches(".toml").clone_into(&mut scenario.name);
    match sound::find_first_problem(&scenario) {
        Some(wrong) => Err(told(wrong)),
        None => Ok(scenario),
    }
}
