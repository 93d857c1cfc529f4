//! Reads `jobs/*.md`: one job per file. The front matter has the keys of `[[job]]`, and the text states the
//! goal of the job.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::{Table, Value};
use unstuck_core::fault::Code;
use unstuck_core::nearest::nearest;
use unstuck_core::plan::file::matter::{self, Node};

use super::expand::{EXPANSIONS_MAX, expand};
use super::job::{Job, Name, lacks};
use super::keys::Keys;
use super::layer::scalar;
use super::resolve::read_file;
use crate::error::Error;
use crate::problem::Problem;

/// The folder of the job files, below the root of the project.
pub(crate) const FOLDER: &str = "jobs";
/// Maximum size of a job file.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Maximum number of entries that are read from the folder.
const FILES_MAX: usize = 20_000;

/// A job and the file that defines it.
pub(super) struct JobFile {
    pub(super) job: Job,
    pub(super) place: String,
    /// The original text of each value with an expanded variable, by its key.
    pub(super) written: Vec<(String, String)>,
}

/// Looks up an environment variable.
type Variable<'v> = &'v dyn Fn(&str) -> Option<String>;

/// Reads the job files of a project and returns the jobs with all problems found.
pub(super) fn read(
    root: &Path,
    variable: Variable<'_>,
) -> Result<(Vec<JobFile>, Vec<Problem>), Error> {
    let (mut jobs, mut problems): (Vec<JobFile>, Vec<Problem>) = (Vec::new(), Vec::new());
    for path in files(&root.join(FOLDER))? {
        let place = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = match read_file(&path, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("it cannot be read: {error}");
                problems.push(Problem::at(Code::ConfigParseError, place, message));
                continue;
            }
        };
        let mut reading = Reading { place, variable, problems: Vec::new(), written: Vec::new() };
        if let Some(job) = reading.job(&path, &text) {
            jobs.push(JobFile { job, place: reading.place, written: reading.written });
        }
        problems.extend(reading.problems);
    }
    let mut known: Vec<&Name> = Vec::new();
    for JobFile { job, place, .. } in &jobs {
        if known.contains(&&job.name) {
            let (message, hint) = super::job::twice(job.name.as_str());
            problems.push(Problem::at(Code::ConfigInvalid, place, message).hinting(hint));
        }
        known.push(&job.name);
    }
    Ok((jobs, problems))
}

/// Lists the job files of a folder in order of their names. Hidden files and a README are no jobs.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Folder { place: folder.display().to_string(), source };
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

struct Reading<'v> {
    place: String,
    variable: Variable<'v>,
    problems: Vec<Problem>,
    written: Vec<(String, String)>,
}

impl Reading<'_> {
    /// Returns the job of a file, or `None` if the file has a problem.
    fn job(&mut self, path: &Path, text: &str) -> Option<Job> {
        let read = match matter::matter(text) {
            Ok(read) => read,
            Err((line, wrong)) => {
                let problem = Problem::at(Code::ConfigParseError, &self.place, wrong.to_string());
                self.problems.push(Problem { line: Some(line as usize), ..problem });
                return None;
            }
        };
        let mut table = Table::new();
        let keys = Keys::all();
        let keys = keys.under("job").and_then(Keys::items);
        for (key, value) in &read.keys {
            self.take(&mut table, key, value, keys);
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        table.entry("name").or_insert_with(|| Value::String(stem.into_owned()));
        let body = read.text.trim();
        let goal = table.contains_key("goal");
        if !body.is_empty() && !goal {
            table.insert("goal".to_owned(), Value::String(body.to_owned()));
        }
        let name = table.get("name").and_then(Value::as_str);
        for (message, hint) in lacks(0, name, &[], |key| table.contains_key(key)) {
            // A wrong value was reported already.
            if self.problems.is_empty() {
                let problem = Problem::at(Code::ConfigInvalid, &self.place, message);
                self.problems.push(problem.hinting(hint.replace(" = ", ": ")));
            }
        }
        let job = Job::deserialize(table);
        match job {
            Ok(job) if self.problems.is_empty() => Some(job),
            Ok(_) => None,
            // The name comes from the file name and is not valid.
            Err(error) => {
                let problem = Problem::at(Code::ConfigInvalid, &self.place, error.message());
                self.problems.push(problem.about("name"));
                None
            }
        }
    }

    fn take(&mut self, table: &mut Table, key: &Node, node: &Node, keys: Option<&Keys>) {
        let name = key.text().unwrap_or_default();
        if keys.and_then(|keys| keys.under(name)).is_none() {
            let near = keys.map(|keys| nearest(name, keys.names()));
            let problem = self.wrong(key, name, format!("there is no key {name:?}"));
            let near = near.unwrap_or_default();
            self.problems.push(if near.is_empty() {
                problem.hinting("`unstuck schema` has all keys of a job")
            } else {
                problem.hinting(format!("did you mean {}?", near.join(" or ")))
            });
            return;
        }
        if table.contains_key(name) {
            let problem = self.wrong(key, name, format!("{name} is given twice"));
            self.problems.push(problem);
            return;
        }
        let mut left = EXPANSIONS_MAX;
        let as_text = match self.value(node, name, &mut left) {
            Ok(Some(value)) => value,
            Ok(None) => return,
            Err(problem) => return self.problems.push(*problem),
        };
        // Front matter holds only text, so a number is parsed where the key needs one.
        let as_scalars = scalars(&as_text);
        let alone = |value: Value| Job::deserialize(Table::from_iter([(name.to_owned(), value)]));
        let fits = match alone(as_text.clone()) {
            Ok(_) => as_text,
            Err(error) => match alone(as_scalars.clone()) {
                Ok(_) => as_scalars,
                Err(_) => {
                    let problem = self.wrong(node, name, format!("{name}: {}", error.message()));
                    return self.problems.push(problem);
                }
            },
        };
        table.insert(name.to_owned(), fits);
    }

    /// Returns the value with its variables expanded, or `None` if it is empty.
    fn value(
        &mut self,
        node: &Node,
        key: &str,
        left: &mut usize,
    ) -> Result<Option<Value>, Box<Problem>> {
        Ok(match &node.value {
            matter::Value::Nothing => None,
            matter::Value::Text(text) => {
                let put_in = expand(text, self.variable, left).map_err(|missing| {
                    let problem = self.wrong(node, key, format!("{key}: {missing}"));
                    let problem = problem.of_variable(missing.variable());
                    Box::new(Problem { code: missing.code(), ..problem })
                })?;
                if put_in.is_some() {
                    self.written.push((key.to_owned(), text.clone()));
                }
                Some(Value::String(put_in.unwrap_or_else(|| text.clone())))
            }
            matter::Value::List(list) => {
                let mut values = Vec::new();
                for node in list {
                    values.extend(self.value(node, key, left)?);
                }
                Some(Value::Array(values))
            }
            matter::Value::Keys(keys) => {
                let mut table = Table::new();
                for (name, node) in keys {
                    let name = name.text().unwrap_or_default();
                    if let Some(value) = self.value(node, key, left)? {
                        table.insert(name.to_owned(), value);
                    }
                }
                Some(Value::Table(table))
            }
        })
    }

    fn wrong(&self, node: &Node, key: &str, message: String) -> Problem {
        let problem = Problem::at(Code::ConfigInvalid, &self.place, message).about(key);
        // Front matter begins on the second line of the file.
        Problem { line: Some(node.line as usize + 1), ..problem }
    }
}

/// Returns the value with numbers and booleans parsed from their texts.
fn scalars(value: &Value) -> Value {
    match value {
        Value::String(text) => scalar(text)
            .filter(|value| !value.is_array() && !value.is_table())
            .unwrap_or_else(|| value.clone()),
        Value::Array(list) => Value::Array(list.iter().map(scalars).collect()),
        Value::Table(table) => {
            Value::Table(table.iter().map(|(name, value)| (name.clone(), scalars(value))).collect())
        }
        other => other.clone(),
    }
}
