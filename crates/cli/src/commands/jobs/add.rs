//! `unstuck jobs add`: writes a job to the settings, or to a file of its own.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml::Value;
use unstuck_core::fault::Code;

use super::AddJobArgs;
use super::defined::ConfiguredJobs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::problem::InputProblem;
use crate::project::LocalProject;
use crate::render::Terminal;
use crate::settings::{FILE, JOBS_FOLDER, JobName, JobSchedule, JobTimeZone};

pub(super) fn run(
    project: &LocalProject,
    job: &AddJobArgs,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    check_job(project, job)?;
    let shown =
        if job.file { write_job_file(project, job)? } else { append_to_settings(project, job)? };
    let said = match &job.schedule {
        Some(text) => match JobSchedule::parse(text) {
            Ok(JobSchedule(schedule)) => format!("It runs {schedule}: `unstuck jobs --watch`."),
            Err(_) => String::new(),
        },
        None => format!("`unstuck jobs run {}` runs it.", job.name),
    };
    let shown = shown.display();
    terminal.write_line(&format!("“{}” is written to {shown}. {said}", job.name))?;
    Ok(Exit::Done)
}

fn check_job(project: &LocalProject, job: &AddJobArgs) -> Result<(), CliError> {
    let zone = job.time_zone.as_deref().map(JobTimeZone::parse);
    let when = job.schedule.as_deref().map(JobSchedule::parse);
    let found = [
        ("NAME", JobName::parse(&job.name).err()),
        ("--schedule", when.and_then(Result::err)),
        ("--time-zone", zone.and_then(Result::err)),
    ];
    let problem = |(place, wrong): (&str, Option<String>)| {
        Some(InputProblem::at_place(Code::ConfigInvalid, place, wrong?))
    };
    let mut problems: Vec<InputProblem> = found.into_iter().filter_map(problem).collect();
    if ConfiguredJobs::from_project(project)?
        .all()
        .iter()
        .any(|known| known.name.as_str() == job.name)
    {
        let message = format!("there is a job called {} already", job.name);
        let problem = InputProblem::at_place(Code::ConfigInvalid, "NAME", message);
        problems.push(problem.with_hint("give it another name, or change it in the settings"));
    }
    if problems.is_empty() { Ok(()) } else { Err(CliError::Arguments(problems)) }
}

/// Returns the keys and values of a job, in the order of the file.
fn job_keys(job: &AddJobArgs) -> Vec<(&'static str, Value)> {
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
fn append_to_settings(project: &LocalProject, job: &AddJobArgs) -> Result<PathBuf, CliError> {
    let path = project.root().join(FILE);
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(CliError::unusable(&path)(source)),
    };
    let gap = match before.as_str() {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let mut block = format!("{gap}[[job]]\nname = {}\n", Value::String(job.name.clone()));
    let goal = job.goal.clone().map(|goal| ("goal", Value::String(goal)));
    for (key, value) in job_keys(job).into_iter().chain(goal) {
        block.extend([key, " = ", &value.to_string(), "\n"]);
    }
    let file = OpenOptions::new().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(block.as_bytes()))
        .map_err(CliError::unusable(&path))?;
    Ok(PathBuf::from(FILE))
}

/// Writes the job to a new file; an existing file is never overwritten.
fn write_job_file(project: &LocalProject, job: &AddJobArgs) -> Result<PathBuf, CliError> {
    let shown = Path::new(JOBS_FOLDER).join(format!("{}.md", job.name));
    let path = project.root().join(&shown);
    let mut text = "---\n".to_owned();
    for (key, value) in job_keys(job) {
        // Values are written as JSON, which YAML includes.
        let value = serde_json::to_string(&value)
            .map_err(|error| CliError::unusable(&path)(error.into()))?;
        text.extend([key, ": ", &value, "\n"]);
    }
    text.push_str("---\n");
    if let Some(goal) = &job.goal {
        text.extend([goal, "\n"]);
    }
    let written = fs::create_dir_all(project.root().join(JOBS_FOLDER))
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(CliError::unusable(&path))?;
    Ok(shown)
}
