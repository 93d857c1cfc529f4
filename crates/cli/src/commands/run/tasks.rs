//! What there is to do, as it was named on the command line: files, folders or a goal.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Code;
use unstuck_core::nearest::nearest;
use unstuck_core::plan::TaskSpec;
use unstuck_core::plan::file::{self, FILE_BYTES_MAX, Source};

use crate::error::Error;
use crate::problem::Problem;
use crate::project::Project;
use crate::render::words::plain_line;

/// Where tasks are looked for when none are named.
const FOLDERS: [&str; 2] = ["tasks", ".ai/tasks"];

/// So many names of a folder are looked at for one that is much like another.
const NEAR_ENTRIES_MAX: usize = 10_000;

/// The tasks, or everything that is wrong with them.
pub(super) fn tasks(
    project: &Project,
    named: &[String],
    dir: Option<&Path>,
) -> Result<Vec<TaskSpec>, Error> {
    let here = dir.unwrap_or(Path::new("."));
    if named.is_empty() {
        let folders = FOLDERS.map(|folder| project.root().join(folder));
        let folder = folders.into_iter().find(|folder| folder.is_dir()).ok_or(Error::NoTasks)?;
        return read(project, task_files(&folder)?);
    }
    if !named.iter().any(|name| here.join(name).exists() || looks_like_a_path(name)) {
        let wrong = |wrong: file::Wrong| {
            let problem = Problem::at(Code::ConfigInvalid, "the goal", wrong.to_string());
            Error::Problems(vec![problem])
        };
        return Ok(vec![file::goal(&named.join(" ")).map_err(wrong)?]);
    }
    let mut files = Vec::new();
    for name in named {
        let path = here.join(name);
        if path.is_dir() {
            files.extend(task_files(&path)?);
        } else if path.exists() {
            files.push(path);
        } else {
            return Err(Error::NoSuchTask { name: plain_line(name), near: near(here, name) });
        }
    }
    read(project, files)
}

/// A goal is a sentence; a mistyped file is none.
fn looks_like_a_path(name: &str) -> bool {
    let sentence = name.split_whitespace().count() > 1;
    !sentence && (name.contains('/') || Path::new(name).extension().is_some_and(|of| of == "md"))
}

/// What is called much like it, in the folder where it should be.
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

/// The task files of a folder, by name.
fn task_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
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
        return Err(Error::NoTasksIn { folder: folder.to_owned() });
    }
    Ok(files)
}

/// What a folder explains about itself is no task.
fn is_task_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = name.starts_with(['.', '_']) || name.eq_ignore_ascii_case("readme.md");
    !hidden && path.is_file() && path.extension().is_some_and(|of| of.eq_ignore_ascii_case("md"))
}

/// Reads the files, and tells all problems of all of them at once.
fn read(project: &Project, files: Vec<PathBuf>) -> Result<Vec<TaskSpec>, Error> {
    let mut problems = Vec::new();
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    for path in files {
        let shown = shown(project, &path);
        match bytes(&path) {
            Ok(bytes) => texts.push((shown, bytes)),
            Err(source) => return Err(Error::Folder { place: shown, source }),
        }
    }
    let mut sources = Vec::new();
    for (path, bytes) in &texts {
        match Source::from_bytes(path, bytes) {
            Ok(source) => sources.push(source),
            Err(problem) => problems.push(told(problem)),
        }
    }
    match file::read(&sources) {
        Ok(tasks) if problems.is_empty() => Ok(tasks),
        Ok(_) => Err(Error::Problems(problems)),
        Err(more) => {
            problems.extend(more.into_iter().map(told));
            Err(Error::Problems(problems))
        }
    }
}

/// The path from the root of the project, which is how everybody sees it.
fn shown(project: &Project, path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.strip_prefix(project.root()).unwrap_or(&whole).display().to_string()
}

/// No more of a file than a task may have, and one byte to see that it has more.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = FILE_BYTES_MAX as u64 + 1;
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn told(problem: file::Problem) -> Problem {
    let (code, hint) = (problem.code(), problem.hint());
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
