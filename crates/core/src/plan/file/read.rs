//! Reading several files at once: their tasks, or all problems in them.

use std::collections::{BTreeMap, BTreeSet};

use super::checklist;
use super::front::{self, Keys};
use super::needs::{Elsewhere, Index, Others};
use super::outline::Outline;
use super::problem::{Problem, Wrong};
use super::task::{self, Body, Draft};
use crate::plan::TaskSpec;
use crate::plan::order::cycle;

/// Maximum size of a file; a plan of ten thousand lines is smaller.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Maximum size of all files together: the text of a build stays in memory and in its journal.
pub const ALL_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of tasks of a build.
pub const TASKS_MAX: usize = 10_000;

/// A file that the caller has read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The path from the root of the project.
    pub path: &'a str,
    /// The content of the file.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// Creates a source from bytes, or a problem if they are not UTF-8.
    pub fn from_bytes(path: &'a str, bytes: &'a [u8]) -> Result<Self, Problem> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = memchr::memchr_iter(b'\n', before).count() + 1;
                let line = Some(u32::try_from(line).unwrap_or(u32::MAX));
                Err(Problem { file: path.to_owned(), line, wrong: Wrong::NotText })
            }
        }
    }
}

/// Reads the tasks of all files in the order of the files, each with the full names of its dependencies: they
/// make a
/// [`Plan`](crate::plan::Plan). Otherwise returns all problems, in the order of files and lines.
pub fn read(files: &[Source<'_>]) -> Result<Vec<TaskSpec>, Vec<Problem>> {
    read_beside(files, &[])
}

/// Like [`read`], with known tasks that are not in these files: a dependency that is done and merged needs no
/// task of this build.
pub fn read_beside(
    files: &[Source<'_>],
    elsewhere: &[Elsewhere],
) -> Result<Vec<TaskSpec>, Vec<Problem>> {
    let mut wrong = Problems::default();
    let mut drafts: Vec<(usize, Draft)> = Vec::new();
    let total: usize = files.iter().map(|file| file.text.len()).sum();
    if total > ALL_BYTES_MAX {
        let file = files.first().map_or("", |file| file.path).to_owned();
        return Err(vec![Problem { file, line: None, wrong: Wrong::TooLargeTogether }]);
    }
    for (at, file) in files.iter().enumerate() {
        for mut draft in one(file) {
            wrong.extend(at, draft.problems.drain(..));
            drafts.push((at, draft));
        }
    }
    if drafts.len() > TASKS_MAX {
        wrong.add(0, None, Wrong::TooMany(drafts.len()));
    } else if drafts.is_empty() {
        wrong.add(0, None, Wrong::NothingToDo);
    } else {
        together(files, &mut drafts, elsewhere, &mut wrong);
    }
    wrong.or(files, drafts)
}

/// Returns the names of the tasks in a file.
pub fn names(file: &Source<'_>) -> Vec<String> {
    one(file).into_iter().map(|draft| draft.spec.name).collect()
}

/// Reads the tasks of a file. An unreadable file becomes a task by its name, because others may depend on it.
fn one(file: &Source<'_>) -> Vec<Draft> {
    let failed = |line, wrong| {
        let mut draft = Draft::named(file.path);
        draft.problems.push((line, wrong));
        vec![draft]
    };
    if file.text.len() > FILE_BYTES_MAX {
        return failed(1, Wrong::TooLarge(file.text.len()));
    }
    let text = without_mark(file.text);
    let (front, at) = match front::split(text) {
        Ok(split) => split,
        Err(wrong) => return failed(1, wrong),
    };
    let body = Body::new(text, at);
    let outline = Outline::of(body.text);
    match front {
        None if checklist::is_plan(&outline) => checklist::read(file.path, &body, &outline),
        None => vec![task::read(file.path, Keys::default(), &body, &outline)],
        Some(front) => vec![task::read(file.path, front::read(front), &body, &outline)],
    }
}

/// Returns the text without the byte order mark that some editors write.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Checks what requires all tasks: names, dependencies and their order.
fn together(
    files: &[Source<'_>],
    drafts: &mut [(usize, Draft)],
    elsewhere: &[Elsewhere],
    wrong: &mut Problems,
) {
    let names: Vec<String> = drafts.iter().map(|(_, draft)| draft.spec.name.clone()).collect();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, (file, draft)) in drafts.iter().enumerate() {
        let known = *first.entry(&names[at]).or_insert(at);
        if known != at {
            let (of, other) = &drafts[known];
            let other = format!("{}:{}", files[*of].path, other.line);
            wrong.add(*file, Some(draft.line), Wrong::Twice { name: names[at].clone(), other });
        }
    }
    let other_names: Vec<String> = elsewhere.iter().map(|other| other.name.clone()).collect();
    let mut others = Others::of(elsewhere, &other_names);
    let mut index = Index::of(&names);
    let mut needs: Vec<Vec<u32>> = vec![Vec::new(); drafts.len()];
    for (at, (file, draft)) in drafts.iter_mut().enumerate() {
        // The items of a numbered list already have their dependencies.
        let listed = draft.spec.depends_on.iter().filter_map(|name| first.get(name.as_str()));
        let mut found: BTreeSet<usize> = listed.copied().collect();
        for (said, line) in &draft.needs {
            match index.find(said) {
                Ok(needed) if !found.insert(needed) => {}
                Ok(needed) => draft.spec.depends_on.push(names[needed].clone()),
                Err(what @ Wrong::UnknownNeed { .. }) => {
                    if let Err(what) = others.settle(said, what) {
                        wrong.add(*file, Some(*line), what);
                    }
                }
                Err(what) => wrong.add(*file, Some(*line), what),
            }
        }
        needs[at].extend(found.into_iter().filter_map(|at| u32::try_from(at).ok()));
    }
    if let Some(round) = cycle(&needs) {
        let name = |at: &u32| names[*at as usize].clone();
        let (file, draft) = &drafts[round.first().map_or(0, |at| *at as usize)];
        let line = draft.needs.first().map_or(draft.line, |(_, line)| *line);
        wrong.add(*file, Some(line), Wrong::Cycle(round.iter().map(name).collect()));
    }
}

/// The problems found, by the position of their file.
#[derive(Default)]
struct Problems(Vec<(usize, Option<u32>, Wrong)>);

impl Problems {
    fn add(&mut self, file: usize, line: Option<u32>, wrong: Wrong) {
        self.0.push((file, line, wrong));
    }

    fn extend(&mut self, file: usize, wrong: impl Iterator<Item = (u32, Wrong)>) {
        self.0.extend(wrong.map(|(line, wrong)| (file, Some(line), wrong)));
    }

    fn or(
        mut self,
        files: &[Source<'_>],
        drafts: Vec<(usize, Draft)>,
    ) -> Result<Vec<TaskSpec>, Vec<Problem>> {
        if self.0.is_empty() {
            return Ok(drafts.into_iter().map(|(_, draft)| draft.spec).collect());
        }
        self.0.sort_by_key(|(file, line, _)| (*file, *line));
        let path = |file: usize| files.get(file).map_or("", |file| file.path).to_owned();
        let problem = |(file, line, wrong)| Problem { file: path(file), line, wrong };
        Err(self.0.into_iter().map(problem).collect())
    }
}
