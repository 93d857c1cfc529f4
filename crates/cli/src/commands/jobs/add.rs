//! `unstuck jobs add`: writes a job to the settings, or to a file of its own.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml::Value;
use unstuck_core::fault::Code;

use super::defined::Defined;
use crate::args::AddJob;
use crate::error::Error;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::project::Project;
use crate::render::Terminal;
use crate::settings::{FILE, JOBS_FOLDER, Name, When, Zone};

pub(super) fn run(project: &Project, job: &AddJob, terminal: &Terminal) -> Result<Exit, Error> {
    check(project, job)?;
    let shown =
        if job.file { in_its_own_file(project, job)? } else { in_the_settings(project, job)? };
    let said = match &job.schedule {
        Some(text) => match When::read(text) {
            Ok(When(schedule)) => format!("It runs {schedule}: `unstuck jobs --watch`."),
            Err(_) => String::new(),
        },
        None => format!("`unstuck jobs run {}` runs it.", job.name),
    };
    let mut out = terminal.styled();
    writeln!(out, "“{}” is written to {}. {said}", job.name, shown.display())?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns all problems of the job as one error.
fn check(project: &Project, job: &AddJob) -> Result<(), Error> {
    let zone = job.time_zone.as_deref().map(Zone::read);
    let when = job.schedule.as_deref().map(When::read);
    let found = [
        ("NAME", Name::read(&job.name).err()),
        ("--schedule", when.and_then(Result::err)),
        ("--time-zone", zone.and_then(Result::err)),
    ];
    let problem = |(place, wrong): (&str, Option<String>)| {
        Some(Problem::at(Code::ConfigInvalid, place, wrong?))
    };
    let mut problems: Vec<Problem> = found.into_iter().filter_map(problem).collect();
    if Defined::read(project)?.all().iter().any(|known| known.name.as_str() == job.name) {
        let message = format!("there is a job called {} already", job.name);
        let problem = Problem::at(Code::ConfigInvalid, "NAME", message);
        problems.push(problem.hinting("give it another name, or change it in the settings"));
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Problems(problems)) }
}

/// Returns the keys and values of a job, in the order of the file.
fn keys(job: &AddJob) -> Vec<(&'static str, Value)> {
    let text = |text: &String| Value::String(text.clone());
    let run = match &job.command[..] {
        [line] => text(line),
        words => Value::Array(words.iter().map(text).collect()),
    };
    let timeout = job.timeout.map(|timeout| format!("{}ms", timeout.as_millis()));
    let rest = [
        ("schedule", job.schedule.as_ref().map(text)),
        ("time_zone", job.time_zone.as_ref().map(text)),
        ("timeout", timeout.as_ref().map(text)),
    ];
    let rest = rest.into_iter().filter_map(|(key, value)| Some((key, value?)));
    [("run", run)].into_iter().chain(rest).collect()
}

/// Appends the job to the settings file; existing content is not changed.
fn in_the_settings(project: &Project, job: &AddJob) -> Result<PathBuf, Error> {
    let path = project.root().join(FILE);
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(unusable(&path, source)),
    };
    let gap = match before.as_str() {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let mut block = format!("{gap}[[job]]\nname = {}\n", Value::String(job.name.clone()));
    let goal = job.goal.clone().map(|goal| ("goal", Value::String(goal)));
    for (key, value) in keys(job).into_iter().chain(goal) {
        block.extend([key, " = ", &value.to_string(), "\n"]);
    }
    let file = OpenOptions::new().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(block.as_bytes()))
        .map_err(|source| unusable(&path, source))?;
    Ok(PathBuf::from(FILE))
}

/// Writes the job to a new file; an existing file is never overwritten.
fn in_its_own_file(project: &Project, job: &AddJob) -> Result<PathBuf, Error> {
    let shown = Path::new(JOBS_FOLDER).join(format!("{}.md", job.name));
    let path = project.root().join(&shown);
    let mut text = "---\n".to_owned();
    for (key, value) in keys(job) {
        // Values are written as JSON, which YAML includes.
        let value = serde_json::to_string(&value).unwrap_or_default();
        text.extend([key, ": ", &value, "\n"]);
    }
    text.push_str("---\n");
    if let Some(goal) = &job.goal {
        text.extend([goal, "\n"]);
    }
    let written = fs::create_dir_all(project.root().join(JOBS_FOLDER))
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| unusable(&path, source))?;
    Ok(shown)
}

fn unusable(path: &Path, source: io::Error) -> Error {
    Error::Folder { place: path.display().to_string(), source }
}
