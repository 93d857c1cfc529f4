//! Reading of scenario files. A problem, such as a name of nothing, is reported with its file and field.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fmt, fs};

use super::scenario::{Scenario, ScenarioTask, SupervisorKill, make_plan};
use super::trouble::{ScenarioTrouble, TroubleEnd, TroublePlace};

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
    match find_first_problem(&scenario) {
        Some(wrong) => Err(told(wrong)),
        None => Ok(scenario),
    }
}

/// Returns the first problem of a scenario, with its field.
fn find_first_problem(scenario: &Scenario) -> Option<String> {
    let names: BTreeSet<&str> = scenario.tasks.iter().map(|task| task.name.as_str()).collect();
    if names.is_empty() {
        return Some("task: there is none".to_owned());
    }
    if names.len() < scenario.tasks.len() {
        return Some("task.name: two tasks have the same".to_owned());
    }
    scenario
        .tasks
        .iter()
        .find_map(|task| find_task_problem(task, &names))
        .or_else(|| scenario.kills.iter().find_map(|kill| find_kill_problem(scenario, kill)))
        .or_else(|| find_oracle_problem(scenario, &names))
        .or_else(|| make_plan(scenario).err().map(|wrong| format!("task: {wrong}")))
}

fn find_task_problem(task: &ScenarioTask, names: &BTreeSet<&str>) -> Option<String> {
    let said = |field: &str, wrong: &str| Some(format!("task {:?}: {field}: {wrong}", task.name));
    if let Some(need) = task.needs.iter().find(|need| !names.contains(need.as_str())) {
        return said("needs", &format!("there is no task {need:?}"));
    }
    let keys: BTreeSet<&str> = task.actions.iter().map(|action| action.key.as_str()).collect();
    if keys.len() < task.actions.len() {
        return said("action.key", "two actions have the same");
    }
    task.troubles.iter().find_map(|trouble| find_trouble_problem(task, trouble)).and_then(|wrong| {
        let (field, wrong) = wrong;
        said(&format!("trouble.{field}"), &wrong)
    })
}

fn find_trouble_problem(
    task: &ScenarioTask,
    trouble: &ScenarioTrouble,
) -> Option<(&'static str, String)> {
    let acts = matches!(trouble.at, TroublePlace::Act(_));
    if let TroublePlace::Act(key) | TroublePlace::LookUp(key) = &trouble.at
        && !task.actions.iter().any(|action| action.key == *key)
    {
        return Some(("at", format!("there is no action {key:?}")));
    }
    if (trouble.happened || trouble.reply_lost) && !acts {
        return Some(("happened", format!("nothing happens at {}", trouble.at)));
    }
    if trouble.happened && !trouble.reply_lost {
        return Some(("happened", "what happened and was heard of is no trouble".to_owned()));
    }
    match &trouble.ends {
        TroubleEnd::Approach(approach) if task.takes.last() != Some(approach) => {
            Some(("ends", format!("{approach:?} is not the last of what the agent takes")))
        }
        TroubleEnd::Approach(_) | TroubleEnd::Compacted if trouble.at == TroublePlace::Command => {
            Some(("ends", "a command is only waited for, or a person helps".to_owned()))
        }
        _ => None,
    }
}

fn find_kill_problem(scenario: &Scenario, kill: &SupervisorKill) -> Option<String> {
    let Some(task) = scenario.find_task(&kill.task) else {
        return Some(format!("kill.task: there is no task {:?}", kill.task));
    };
    match &kill.at {
        TroublePlace::Act(key) | TroublePlace::LookUp(key)
            if !task.actions.iter().any(|action| action.key == *key) =>
        {
            Some(format!("kill.at: there is no action {key:?}"))
        }
        _ if kill.nth == 0 => Some("kill.nth: it is counted from 1".to_owned()),
        _ => None,
    }
}

fn find_oracle_problem(scenario: &Scenario, names: &BTreeSet<&str>) -> Option<String> {
    let oracle = &scenario.oracle;
    if let Some(unknown) = oracle.completable.iter().find(|name| !names.contains(name.as_str())) {
        return Some(format!("oracle.completable: there is no task {unknown:?}"));
    }
    let exists = |name: &String| {
        let (task, key) = name.split_once('.').unwrap_or((name, ""));
        scenario.find_task(task).is_some_and(|task| task.actions.iter().any(|a| a.key == key))
    };
    let unknown = oracle.effects.keys().find(|name| !exists(name))?;
    Some(format!("oracle.effects: there is no action {unknown:?}; they are exists task.key"))
}
