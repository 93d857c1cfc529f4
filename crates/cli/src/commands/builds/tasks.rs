//! Reads the tasks that the command line names: files, folders or a goal.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::string::FromUtf8Error;

use unstuck_core::fault::Code;
use unstuck_core::nearest::find_nearest;
use unstuck_core::plan::TaskSpec;
use unstuck_core::plan::file::{self, PlanSource};
use unstuck_world::redact::Redactor;

use super::elsewhere::{
    FOLDERS, find_elsewhere, is_task_file, read_bounded, shown_path, task_files,
};
use crate::error::{CliError, TasksError};
use crate::problem::InputProblem;
use crate::project::{LocalProject, project_redactor};
use crate::render;
use crate::render::words::plain_line;

/// Maximum number of entries of a folder that are compared for a similar name.
const NEAR_ENTRIES_MAX: usize = 10_000;

/// Returns the tasks, or all problems with them.
pub(in crate::commands) async fn find_tasks(
    project: &LocalProject,
    named: &[String],
    dir: Option<&Path>,
) -> Result<Vec<TaskSpec>, CliError> {
    let here = dir.unwrap_or(Path::new("."));
    if named.is_empty() {
        let folders = FOLDERS.map(|folder| project.root().join(folder));
        let folder =
            folders.into_iter().find(|folder| folder.is_dir()).ok_or(TasksError::Nothing)?;
        return read_task_files(project, task_files(&folder)?).await;
    }
    // An empty variable of a script names nothing, least of all this folder.
    if named.iter().all(|name| name.trim().is_empty()) {
        return Err(TasksError::EmptyGoal.into());
    }
    if !named.iter().any(|name| here.join(name).exists() || looks_like_a_path(name)) {
        return goal_task(project, named.join(" "));
    }
    let mut files = Vec::new();
    for name in named {
        let path = here.join(name);
        if path.is_dir() {
            files.extend(task_files(&path)?);
        } else if path.exists() {
            files.push(path);
        } else {
            return Err(TasksError::NotThere {
                name: plain_line(name),
                near: similar_name(here, name),
            }
            .into());
        }
    }
    // A file that is named twice, or beside its folder, is one task.
    let mut known = HashSet::new();
    files.retain(|file| file.canonicalize().map_or(true, |real| known.insert(real)));
    read_task_files(project, files).await
}

/// Returns a single task for a goal in a few words.
pub(in crate::commands) fn goal_task(
    project: &LocalProject,
    words: String,
) -> Result<Vec<TaskSpec>, CliError> {
    let wrong = |wrong: file::PlanFileMistake| {
        let problem = InputProblem::at_place(Code::ConfigInvalid, "the goal", wrong.to_string());
        CliError::Problems(vec![problem])
    };
    let redactor = project_redactor(project);
    let goal = redact_secrets(&redactor, "the goal", words);
    Ok(vec![redact_task(&redactor, file::task_from_goal(&goal).map_err(wrong)?)])
}

/// Returns the tasks in files and folders of the project; without any, those in its usual folder.
pub(in crate::commands) async fn project_tasks(
    project: &LocalProject,
    paths: &[String],
) -> Result<Vec<TaskSpec>, CliError> {
    let inside = |path: &&String| {
        let mut parts = Path::new(path).components();
        let plain = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        // A symbolic link may lead out of the project as well.
        let whole = project.root().join(path).canonicalize();
        plain && whole.is_ok_and(|whole| whole.starts_with(project.root()))
    };
    if let Some(name) = paths.iter().find(|path| !inside(path)) {
        let near = similar_name(project.root(), name);
        return Err(TasksError::NotThere { name: plain_line(name), near }.into());
    }
    find_tasks(project, paths, Some(project.root())).await
}

/// Returns whether a name looks like a mistyped path; a goal is a sentence.
fn looks_like_a_path(name: &str) -> bool {
    let sentence = name.split_whitespace().count() > 1;
    !sentence && (name.contains('/') || Path::new(name).extension().is_some_and(|of| of == "md"))
}

/// Returns a similar name in the same folder.
fn similar_name(here: &Path, name: &str) -> Option<String> {
    let wanted = Path::new(name);
    let folder = wanted.parent().unwrap_or(Path::new(""));
    let there = fs::read_dir(here.join(folder)).ok()?.take(NEAR_ENTRIES_MAX).flatten();
    let candidates = there.filter(|entry| entry.path().is_dir() || is_task_file(&entry.path()));
    let names: Vec<String> =
        candidates.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let wanted = wanted.file_name()?.to_str()?;
    let best = *find_nearest(wanted, names.iter().map(String::as_str)).first()?;
    Some(plain_line(&folder.join(best).to_string_lossy()))
}

/// Reads the files, and returns the problems of all of them at once.
async fn read_task_files(
    project: &LocalProject,
    files: Vec<PathBuf>,
) -> Result<Vec<TaskSpec>, CliError> {
    let redactor = project_redactor(project);
    let mut problems = Vec::new();
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    for path in &files {
        let shown = shown_path(project, path);
        match read_bounded(path) {
            Ok(bytes) => {
                // The parser reports a file that is not text.
                let text = String::from_utf8(bytes)
                    .map(|text| redact_secrets(&redactor, &shown, text).into_bytes());
                texts.push((shown, text.unwrap_or_else(FromUtf8Error::into_bytes)));
            }
            Err(source) => return Err(CliError::Input { place: shown, source }),
        }
    }
    let mut sources = Vec::new();
    for (path, bytes) in &texts {
        match PlanSource::from_bytes(path, bytes) {
            Ok(source) => sources.push(source),
            Err(problem) => problems.push(to_problem(problem)),
        }
    }
    let read = match file::parse_tasks(&sources) {
        // A dependency may be done already, or in a file that was not named.
        Err(wrong) if wrong.iter().any(is_unknown_need) => {
            file::parse_tasks_with_external(&sources, &find_elsewhere(project, &files).await?)
        }
        read => read,
    };
    match read {
        Ok(tasks) => {
            problems.extend(tasks.iter().filter_map(find_secret_check));
            let tasks = tasks.into_iter().map(|task| redact_task(&redactor, task));
            if problems.is_empty() {
                Ok(tasks.collect())
            } else {
                Err(CliError::Problems(problems))
            }
        }
        Err(more) if problems.is_empty() && more.iter().all(is_nothing_to_do) => {
            Err(TasksError::AllDone.into())
        }
        Err(more) => {
            // Whether anything is left to do is not known while a file cannot be read.
            let told =
                more.into_iter().filter(|more| problems.is_empty() || !is_nothing_to_do(more));
            let told: Vec<InputProblem> = told.map(to_problem).collect();
            problems.extend(told);
            Err(CliError::Problems(problems))
        }
    }
}

/// Redacts the secrets in a text, with a note. The text is stored and passed to agents, and its title is
/// public.
fn redact_secrets(redactor: &Redactor, place: &str, text: String) -> String {
    if text.lines().all(|line| redactor.find_secret_kind(line.as_bytes()).is_none()) {
        return text;
    }
    let text = redactor.redact_text(&text).into_owned();
    render::write_note(&format!(
        "unstuck: {place} holds a secret; agents read [redacted] instead."
    ));
    text
}

/// Returns a problem if a check contains a redacted secret: a check is run as written, so it must be fit
/// for storing.
fn find_secret_check(task: &TaskSpec) -> Option<InputProblem> {
    let redacted = |command: &String| command.contains("[redacted");
    task.validate.iter().flatten().find(|command| redacted(command))?;
    let place = task.file.clone().unwrap_or_else(|| task.name.clone());
    let problem = InputProblem::at_place(Code::ConfigInvalid, place, "a check spells a secret out");
    Some(problem.with_field("validate").with_hint("name its variable instead, such as $API_KEY"))
}

fn redact_task(redactor: &Redactor, task: TaskSpec) -> TaskSpec {
    let clean = |text: &str| redactor.redact_text(text).into_owned();
    TaskSpec {
        title: clean(&task.title),
        goal: clean(&task.goal),
        brief: clean(&task.brief),
        ..task
    }
}

const fn is_unknown_need(problem: &file::PlanFileProblem) -> bool {
    matches!(problem.wrong, file::PlanFileMistake::UnknownNeed { .. })
}

const fn is_nothing_to_do(problem: &file::PlanFileProblem) -> bool {
    matches!(problem.wrong, file::PlanFileMistake::NothingToDo)
}

fn to_problem(problem: file::PlanFileProblem) -> InputProblem {
    let code = problem.code();
    let hint = problem.hint();
    let told = InputProblem::at_place(code, problem.file, problem.wrong.to_string());
    let told = InputProblem { line: problem.line.and_then(|line| line.try_into().ok()), ..told };
    match hint {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_a_goal_and_a_mistyped_file_is_not() {
        for goal in ["make the login test pass", "fix src/login.rs so that it works", "cleanup"] {
            assert!(!looks_like_a_path(goal), "{goal}");
        }
        for path in ["tasks/", "plan.md", "tasks/001.md", "./x"] {
            assert!(looks_like_a_path(path), "{path}");
        }
    }
}
