//! Reads `jobs/*.md`: one job per file. The front matter has the keys of `[[job]]`, and the text states the
//! goal of the job.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::{Table, Value};
use unstuck_core::fault::Code;
use unstuck_core::nearest::find_nearest;
use unstuck_core::plan::file::matter::{self, YamlNode};

use super::job::{JobName, JobSettings, duplicate_name_problem, find_job_problems};
use super::keys::SettingKeys;
use super::layer::{EXPANSIONS_MAX, expand_variables, parse_scalar, read_file};
use crate::error::{CliError, near_hint};
use crate::problem::InputProblem;

/// The folder of the job files, below the root of the project.
pub(crate) const FOLDER: &str = "jobs";
/// Maximum size of a job file.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Maximum number of entries that are read from the folder.
const FILES_MAX: usize = 20_000;

/// A job and the file that defines it.
pub(super) struct JobFile {
    pub(super) job: JobSettings,
    pub(super) place: String,
    /// The original text of each value with an expanded variable, by its key.
    pub(super) written: Vec<(String, String)>,
}

/// Looks up an environment variable.
type VariableLookup<'v> = &'v dyn Fn(&str) -> Option<String>;

/// Reads the job files of a project and returns the jobs with all problems found.
pub(super) fn read_job_files(
    root: &Path,
    variable: VariableLookup<'_>,
) -> Result<(Vec<JobFile>, Vec<InputProblem>), CliError> {
    let (mut jobs, mut problems): (Vec<JobFile>, Vec<InputProblem>) = (Vec::new(), Vec::new());
    for path in list_job_files(&root.join(FOLDER))? {
        let place = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = match read_file(&path, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("it cannot be read: {error}");
                problems.push(InputProblem::at_place(Code::ConfigParseError, place, message));
                continue;
            }
        };
        let mut reading =
            JobFileReader { place, variable, problems: Vec::new(), written: Vec::new() };
        if let Some(job) = reading.parse_job(&path, &text) {
            jobs.push(JobFile { job, place: reading.place, written: reading.written });
        }
        problems.extend(reading.problems);
    }
    let mut known: Vec<&JobName> = Vec::new();
    for JobFile { job, place, .. } in &jobs {
        if known.contains(&&job.name) {
            let (message, hint) = duplicate_name_problem(job.name.as_str());
            problems
                .push(InputProblem::at_place(Code::ConfigInvalid, place, message).with_hint(hint));
        }
        known.push(&job.name);
    }
    Ok((jobs, problems))
}

/// Lists the job files of a folder in order of their names. Hidden files and a README are no jobs.
fn list_job_files(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unreadable = CliError::unusable(folder);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(source) => return Err(unreadable(source)),
    };
    let mut files = Vec::new();
    for entry in entries.take(FILES_MAX) {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let hidden = name.starts_with(['.', '_']) || name.eq_ignore_ascii_case("readme.md");
        if !hidden && path.extension().is_some_and(|of| of.eq_ignore_ascii_case("md")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

struct JobFileReader<'v> {
    place: String,
    variable: VariableLookup<'v>,
    problems: Vec<InputProblem>,
    written: Vec<(String, String)>,
}

impl JobFileReader<'_> {
    /// Returns the job of a file, or `None` if the file has a problem.
    fn parse_job(&mut self, path: &Path, text: &str) -> Option<JobSettings> {
        let read = match matter::parse_front_matter(text) {
            Ok(read) => read,
            Err((line, wrong)) => {
                let problem =
                    InputProblem::at_place(Code::ConfigParseError, &self.place, wrong.to_string());
                self.problems.push(InputProblem { line: Some(line as usize), ..problem });
                return None;
            }
        };
        let mut table = Table::new();
        let keys = SettingKeys::all();
        let keys = keys.get("job").and_then(SettingKeys::items);
        for (key, value) in &read.keys {
            self.take_key(&mut table, key, value, keys);
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        table.entry("name").or_insert_with(|| Value::String(stem.into_owned()));
        let body = read.text.trim();
        let goal = table.contains_key("goal");
        if !body.is_empty() && !goal {
            table.insert("goal".to_owned(), Value::String(body.to_owned()));
        }
        let name = table.get("name").and_then(Value::as_str);
        for (message, hint) in find_job_problems(0, name, &[], |key| table.contains_key(key)) {
            // A wrong value was reported already.
            if self.problems.is_empty() {
                let problem = InputProblem::at_place(Code::ConfigInvalid, &self.place, message);
                self.problems.push(problem.with_hint(hint.replace(" = ", ": ")));
            }
        }
        let job = JobSettings::deserialize(table);
        match job {
            Ok(job) if self.problems.is_empty() => Some(job),
            Ok(_) => None,
            // The name comes from the file name and is not valid.
            Err(error) => {
                let problem =
                    InputProblem::at_place(Code::ConfigInvalid, &self.place, error.message());
                self.problems.push(problem.with_field("name"));
                None
            }
        }
    }

    fn take_key(
        &mut self,
        table: &mut Table,
        key: &YamlNode,
        node: &YamlNode,
        keys: Option<&SettingKeys>,
    ) {
        let name = key.as_text().unwrap_or_default();
        if keys.and_then(|keys| keys.get(name)).is_none() {
            let near = keys.map(|keys| find_nearest(name, keys.names()));
            let problem = self.problem_at(key, name, format!("there is no key {name:?}"));
            let all = || "`unstuck schema` has all keys of a job".to_owned();
            let hint = near_hint(&near.unwrap_or_default()).unwrap_or_else(all);
            self.problems.push(problem.with_hint(hint));
            return;
        }
        if table.contains_key(name) {
            let problem = self.problem_at(key, name, format!("{name} is given twice"));
            self.problems.push(problem);
            return;
        }
        let mut left = EXPANSIONS_MAX;
        let as_text = match self.expand_value(node, name, &mut left) {
            Ok(Some(value)) => value,
            Ok(None) => return,
            Err(problem) => return self.problems.push(*problem),
        };
        // Front matter holds only text, so a number is parsed where the key needs one.
        let as_scalars = parse_scalars(&as_text);
        let alone =
            |value: Value| JobSettings::deserialize(Table::from_iter([(name.to_owned(), value)]));
        let fits = match alone(as_text.clone()) {
            Ok(_) => as_text,
            Err(error) => match alone(as_scalars.clone()) {
                Ok(_) => as_scalars,
                Err(_) => {
                    let problem =
                        self.problem_at(node, name, format!("{name}: {}", error.message()));
                    return self.problems.push(problem);
                }
            },
        };
        table.insert(name.to_owned(), fits);
    }

    /// Returns the value with its variables expanded, or `None` if it is empty.
    fn expand_value(
        &mut self,
        node: &YamlNode,
        key: &str,
        left: &mut usize,
    ) -> Result<Option<Value>, Box<InputProblem>> {
        Ok(match &node.value {
            matter::YamlValue::Nothing => None,
            matter::YamlValue::Text(text) => {
                let put_in = expand_variables(text, self.variable, left).map_err(|missing| {
                    let problem = self.problem_at(node, key, format!("{key}: {missing}"));
                    let problem = problem.with_variable(missing.variable());
                    Box::new(InputProblem { code: missing.code(), ..problem })
                })?;
                if put_in.is_some() {
                    self.written.push((key.to_owned(), text.clone()));
                }
                Some(Value::String(put_in.unwrap_or_else(|| text.clone())))
            }
            matter::YamlValue::List(list) => {
                let mut values = Vec::new();
                for node in list {
                    values.extend(self.expand_value(node, key, left)?);
                }
                Some(Value::Array(values))
            }
            matter::YamlValue::Keys(keys) => {
                let mut table = Table::new();
                for (name, node) in keys {
                    let name = name.as_text().unwrap_or_default();
                    if let Some(value) = self.expand_value(node, key, left)? {
                        table.insert(name.to_owned(), value);
                    }
                }
                Some(Value::Table(table))
            }
        })
    }

    fn problem_at(&self, node: &YamlNode, key: &str, message: String) -> InputProblem {
        let problem =
            InputProblem::at_place(Code::ConfigInvalid, &self.place, message).with_field(key);
        // Front matter begins on the second line of the file.
        InputProblem { line: Some(node.line as usize + 1), ..problem }
    }
}

/// Returns the value with numbers and booleans parsed from their texts.
fn parse_scalars(value: &Value) -> Value {
    match value {
        Value::String(text) => parse_scalar(text)
            .filter(|value| !value.is_array() && !value.is_table())
            .unwrap_or_else(|| value.clone()),
        Value::Array(list) => Value::Array(list.iter().map(parse_scalars).collect()),
        Value::Table(table) => Value::Table(
            table.iter().map(|(name, value)| (name.clone(), parse_scalars(value))).collect(),
        ),
        other => other.clone(),
    }
}
