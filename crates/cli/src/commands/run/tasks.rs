//! Reads the tasks that the command line names: files, folders or a goal.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::string::FromUtf8Error;

use unstuck_core::fault::Code;
use unstuck_core::nearest::nearest;
use unstuck_core::plan::TaskSpec;
use unstuck_core::plan::file::{self, FILE_BYTES_MAX, Source};
use unstuck_world::redact::Redactor;

use super::elsewhere::elsewhere;
use crate::build::redactor;
use crate::error::{Error, TasksError};
use crate::problem::Problem;
use crate::project::Project;
use crate::render;
use crate::render::words::plain_line;

/// The folders of tasks if none are named.
pub(super) const FOLDERS: [&str; 2] = ["tasks", ".ai/tasks"];

/// Maximum number of entries of a folder that are compared for a similar name.
const NEAR_ENTRIES_MAX: usize = 10_000;

/// Returns the tasks, or all problems with them.
pub(super) async fn tasks(
    project: &Project,
    named: &[String],
    dir: Option<&Path>,
) -> Result<Vec<TaskSpec>, Error> {
    let here = dir.unwrap_or(Path::new("."));
    if named.is_empty() {
        let folders = FOLDERS.map(|folder| project.root().join(folder));
        let folder =
            folders.into_iter().find(|folder| folder.is_dir()).ok_or(TasksError::Nothing)?;
        return read(project, task_files(&folder)?).await;
    }
    // An empty variable of a script names nothing, least of all this folder.
    if named.iter().all(|name| name.trim().is_empty()) {
        return Err(TasksError::EmptyGoal.into());
    }
    if !named.iter().any(|name| here.join(name).exists() || looks_like_a_path(name)) {
        return goal(project, named.join(" "));
    }
    let mut files = Vec::new();
    for name in named {
        let path = here.join(name);
        if path.is_dir() {
            files.extend(task_files(&path)?);
        } else if path.exists() {
            files.push(path);
        } else {
            return Err(
                TasksError::NotThere { name: plain_line(name), near: near(here, name) }.into()
            );
        }
    }
    read(project, files).await
}

/// Returns a single task for a goal in a few words.
pub(in crate::commands) fn goal(project: &Project, words: String) -> Result<Vec<TaskSpec>, Error> {
    let wrong = |wrong: file::Wrong| {
        let problem = Problem::at(Code::ConfigInvalid, "the goal", wrong.to_string());
        Error::Problems(vec![problem])
    };
    let redactor = redactor(project);
    let goal = without_secrets(&redactor, "the goal", words);
    Ok(vec![in_public(&redactor, file::goal(&goal).map_err(wrong)?)])
}

/// Returns the tasks in files and folders of the project; without any, those in its usual folder.
pub(in crate::commands) async fn of_project(
    project: &Project,
    paths: &[String],
) -> Result<Vec<TaskSpec>, Error> {
    let inside = |path: &&String| {
        let mut parts = Path::new(path).components();
        let plain = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        // A symbolic link may lead out of the project as well.
        let whole = project.root().join(path).canonicalize();
        plain && whole.is_ok_and(|whole| whole.starts_with(project.root()))
    };
    if let Some(name) = paths.iter().find(|path| !inside(path)) {
        let near = near(project.root(), name);
        return Err(TasksError::NotThere { name: plain_line(name), near }.into());
    }
    tasks(project, paths, Some(project.root())).await
}

/// Returns whether a name looks like a mistyped path; a goal is a sentence.
fn looks_like_a_path(name: &str) -> bool {
    let sentence = name.split_whitespace().count() > 1;
    !sentence && (name.contains('/') || Path::new(name).extension().is_some_and(|of| of == "md"))
}

/// Returns a similar name in the same folder.
fn near(here: &Path, name: &str) -> Option<String> {
    let wanted = Path::new(name);
    let folder = wanted.parent().unwrap_or(Path::new(""));
    let there = fs::read_dir(here.join(folder)).ok()?.take(NEAR_ENTRIES_MAX).flatten();
    let candidates = there.filter(|entry| entry.path().is_dir() || is_task_file(&entry.path()));
    let names: Vec<String> =
        candidates.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let wanted = wanted.file_name()?.to_str()?;
    let best = *nearest(wanted, names.iter().map(String::as_str)).first()?;
    Some(plain_line(&folder.join(best).to_string_lossy()))
}

/// Returns the task files of a folder, sorted by name.
pub(super) fn task_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Folder { place: folder.display().to_string(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_task_file(&path) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(TasksError::EmptyFolder { folder: folder.to_owned() }.into());
    }
    Ok(files)
}

/// Returns whether a file is a task; hidden files and a README are not.
fn is_task_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = name.starts_with(['.', '_']) || name.eq_ignore_ascii_case("readme.md");
    !hidden && path.is_file() && path.extension().is_some_and(|of| of.eq_ignore_ascii_case("md"))
}

/// Reads the files, and returns the problems of all of them at once.
async fn read(project: &Project, files: Vec<PathBuf>) -> Result<Vec<TaskSpec>, Error> {
    let redactor = redactor(project);
    let mut problems = Vec::new();
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    for path in &files {
        let shown = shown(project, path);
        match bytes(path) {
            Ok(bytes) => {
                // The parser reports a file that is not text.
                let text = String::from_utf8(bytes)
                    .map(|text| without_secrets(&redactor, &shown, text).into_bytes());
                texts.push((shown, text.unwrap_or_else(FromUtf8Error::into_bytes)));
            }
            Err(source) => return Err(Error::Input { place: shown, source }),
        }
    }
    let mut sources = Vec::new();
    for (path, bytes) in &texts {
        match Source::from_bytes(path, bytes) {
            Ok(source) => sources.push(source),
            Err(problem) => problems.push(told(problem)),
        }
    }
    let read = match file::read(&sources) {
        // A dependency may be done already, or in a file that was not named.
        Err(wrong) if wrong.iter().any(is_unknown_need) => {
            file::read_beside(&sources, &elsewhere(project, &files).await?)
        }
        read => read,
    };
    match read {
        Ok(tasks) => {
            problems.extend(tasks.iter().filter_map(secret_check));
            let tasks = tasks.into_iter().map(|task| in_public(&redactor, task));
            if problems.is_empty() { Ok(tasks.collect()) } else { Err(Error::Problems(problems)) }
        }
        Err(more) if problems.is_empty() && more.iter().all(is_nothing_to_do) => {
            Err(TasksError::AllDone.into())
        }
        Err(more) => {
            problems.extend(more.into_iter().map(told));
            Err(Error::Problems(problems))
        }
    }
}

/// Redacts the secrets in a text, with a note. The text is stored and passed to agents, and its title is
/// public.
fn without_secrets(redactor: &Redactor, place: &str, text: String) -> String {
    if text.lines().all(|line| redactor.finds(line.as_bytes()).is_none()) {
        return text;
    }
    let text = redactor.text(&text).into_owned();
    render::note(&format!("unstuck: {place} holds a secret; agents read [redacted] instead."));
    text
}

/// Returns a problem if a check contains a redacted secret: a check is run as written, so it must be fit
/// for storing.
fn secret_check(task: &TaskSpec) -> Option<Problem> {
    let redacted = |command: &String| command.contains("[redacted");
    task.validate.iter().flatten().find(|command| redacted(command))?;
    let place = task.file.clone().unwrap_or_else(|| task.name.clone());
    let problem = Problem::at(Code::ConfigInvalid, place, "a check spells a secret out");
    Some(problem.about("validate").hinting("name its variable instead, such as $API_KEY"))
}

/// Redacts a task's texts.
fn in_public(redactor: &Redactor, task: TaskSpec) -> TaskSpec {
    let clean = |text: &str| redactor.text(text).into_owned();
    TaskSpec {
        title: clean(&task.title),
        goal: clean(&task.goal),
        brief: clean(&task.brief),
        ..task
    }
}

/// Returns the path relative to the root of the project, as it is shown.
pub(super) fn shown(project: &Project, path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.strip_prefix(project.root()).unwrap_or(&whole).display().to_string()
}

/// Reads at most one byte more than a task file may have, which is enough to detect that it is too long.
pub(super) fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = FILE_BYTES_MAX as u64 + 1;
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

const fn is_unknown_need(problem: &file::Problem) -> bool {
    matches!(problem.wrong, file::Wrong::UnknownNeed { .. })
}

const fn is_nothing_to_do(problem: &file::Problem) -> bool {
    matches!(problem.wrong, file::Wrong::NothingToDo)
}

fn told(problem: file::Problem) -> Problem {
    let code = problem.code();
    let hint = problem.hint();
    let told = Problem::at(code, problem.file, problem.wrong.to_string());
    let told = Problem { line: problem.line.and_then(|line| line.try_into().ok()), ..told };
    match hint {
        Some(hint) => told.hinting(hint),
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
