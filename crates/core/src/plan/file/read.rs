//! Reading several files at once: their tasks, or all problems in them.

use std::collections::{BTreeMap, BTreeSet};

use super::checklist;
use super::front::{self, TaskKeys};
use super::matter;
use super::name::{ExternalTask, ExternalTasks, TaskIndex};
use super::outline::Outline;
use super::problem::{ALL_BYTES_MAX, FILE_BYTES_MAX, PlanFileMistake, PlanFileProblem, TASKS_MAX};
use super::task::{self, FileBody, TaskDraft};
use crate::plan::TaskSpec;
use crate::plan::order::find_cycle;

/// A file that the caller has read.
#[derive(Clone, Copy, Debug)]
pub struct PlanSource<'a> {
    /// The path from the root of the project.
    pub path: &'a str,
    /// The content of the file.
    pub text: &'a str,
}

impl<'a> PlanSource<'a> {
    /// Creates a source from bytes, or a problem if they are not UTF-8.
    pub fn from_bytes(path: &'a str, bytes: &'a [u8]) -> Result<Self, PlanFileProblem> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = memchr::memchr_iter(b'\n', before).count() + 1;
                let line = Some(u32::try_from(line).unwrap_or(u32::MAX));
                Err(PlanFileProblem {
                    file: path.to_owned(),
                    line,
                    wrong: PlanFileMistake::NotText,
                })
            }
        }
    }
}

/// Reads the tasks of all files in the order of the files, each with the full names of its dependencies: they
/// make a [`Plan`](crate::plan::Plan). Otherwise returns all problems, in the order of files and lines.
pub fn parse_tasks(files: &[PlanSource<'_>]) -> Result<Vec<TaskSpec>, Vec<PlanFileProblem>> {
    parse_tasks_with_external(files, &[])
}

/// Like [`parse_tasks`], with known tasks that are not in these files: a dependency that is done and merged needs no
/// task of this build.
pub fn parse_tasks_with_external(
    files: &[PlanSource<'_>],
    elsewhere: &[ExternalTask],
) -> Result<Vec<TaskSpec>, Vec<PlanFileProblem>> {
    let mut wrong = PlanFileProblems::default();
    let mut drafts: Vec<(usize, TaskDraft)> = Vec::new();
    let total: usize = files.iter().map(|file| file.text.len()).sum();
    if total > ALL_BYTES_MAX {
        let file = files.first().map_or("", |file| file.path).to_owned();
        return Err(vec![PlanFileProblem {
            file,
            line: None,
            wrong: PlanFileMistake::TooLargeTogether,
        }]);
    }
    for (at, file) in files.iter().enumerate() {
        for mut draft in parse_file(file) {
            wrong.add_problems(at, draft.problems.drain(..));
            drafts.push((at, draft));
        }
    }
    if drafts.len() > TASKS_MAX {
        wrong.add_problem(0, None, PlanFileMistake::TooMany(drafts.len()));
    } else if drafts.is_empty() {
        wrong.add_problem(0, None, PlanFileMistake::NothingToDo);
    } else {
        check_together(files, &mut drafts, elsewhere, &mut wrong);
    }
    wrong.into_result(files, drafts)
}

/// Returns the names of the tasks in a file.
pub fn task_names(file: &PlanSource<'_>) -> Vec<String> {
    parse_file(file).into_iter().map(|draft| draft.spec.name).collect()
}

/// Reads the tasks of a file. An unreadable file becomes a task by its name, because others may depend on it.
fn parse_file(file: &PlanSource<'_>) -> Vec<TaskDraft> {
    let failed = |line, wrong| {
        let mut draft = TaskDraft::from_path(file.path);
        draft.problems.push((line, wrong));
        vec![draft]
    };
    if file.text.len() > FILE_BYTES_MAX {
        return failed(1, PlanFileMistake::TooLarge(file.text.len()));
    }
    let text = matter::strip_byte_order_mark(file.text);
    let (front, at) = match matter::split_front_matter(text) {
        Ok(split) => split,
        Err(wrong) => return failed(1, wrong),
    };
    let body = FileBody::new(text, at);
    let outline = Outline::parse(body.text);
    match front {
        None if checklist::is_plan(&outline) => {
            checklist::parse_checklist(file.path, &body, &outline)
        }
        None => vec![task::parse_task(file.path, TaskKeys::default(), &body, &outline)],
        Some(front) => {
            vec![task::parse_task(file.path, front::parse_task_keys(front), &body, &outline)]
        }
    }
}

/// Checks what requires all tasks: names, dependencies and their order.
fn check_together(
    files: &[PlanSource<'_>],
    drafts: &mut [(usize, TaskDraft)],
    elsewhere: &[ExternalTask],
    wrong: &mut PlanFileProblems,
) {
    let names: Vec<String> = drafts.iter().map(|(_, draft)| draft.spec.name.clone()).collect();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, (file, draft)) in drafts.iter().enumerate() {
        let known = *first.entry(&names[at]).or_insert(at);
        if known != at {
            let (of, other) = &drafts[known];
            let other = format!("{}:{}", files[*of].path, other.line);
            wrong.add_problem(
                *file,
                Some(draft.line),
                PlanFileMistake::Twice { name: names[at].clone(), other },
            );
        }
    }
    let other_names: Vec<String> = elsewhere.iter().map(|other| other.name.clone()).collect();
    let mut others = ExternalTasks::new(elsewhere, &other_names);
    let mut index = TaskIndex::new(&names);
    let mut needs: Vec<Vec<u32>> = vec![Vec::new(); drafts.len()];
    for (at, (file, draft)) in drafts.iter_mut().enumerate() {
        // The items of a numbered list already have their dependencies.
        let listed = draft.spec.depends_on.iter().filter_map(|name| first.get(name.as_str()));
        let mut found: BTreeSet<usize> = listed.copied().collect();
        for (said, line) in &draft.needs {
            match index.find_task(said) {
                Ok(needed) if !found.insert(needed) => {}
                Ok(needed) => draft.spec.depends_on.push(names[needed].clone()),
                Err(what @ PlanFileMistake::UnknownNeed { .. }) => {
                    if let Err(what) = others.check_dependency(said, what) {
                        wrong.add_problem(*file, Some(*line), what);
                    }
                }
                Err(what) => wrong.add_problem(*file, Some(*line), what),
            }
        }
        needs[at].extend(found.into_iter().filter_map(|at| u32::try_from(at).ok()));
    }
    if let Some(round) = find_cycle(&needs) {
        let name = |at: &u32| names[*at as usize].clone();
        let (file, draft) = &drafts[round.first().map_or(0, |at| *at as usize)];
        let line = draft.needs.first().map_or(draft.line, |(_, line)| *line);
        wrong.add_problem(
            *file,
            Some(line),
            PlanFileMistake::Cycle(round.iter().map(name).collect()),
        );
    }
}

/// The problems found, by the position of their file.
#[derive(Default)]
struct PlanFileProblems(Vec<(usize, Option<u32>, PlanFileMistake)>);

impl PlanFileProblems {
    fn add_problem(&mut self, file: usize, line: Option<u32>, wrong: PlanFileMistake) {
        self.0.push((file, line, wrong));
    }

    fn add_problems(&mut self, file: usize, wrong: impl Iterator<Item = (u32, PlanFileMistake)>) {
        self.0.extend(wrong.map(|(line, wrong)| (file, Some(line), wrong)));
    }

    fn into_result(
        mut self,
        files: &[PlanSource<'_>],
        drafts: Vec<(usize, TaskDraft)>,
    ) -> Result<Vec<TaskSpec>, Vec<PlanFileProblem>> {
        if self.0.is_empty() {
            return Ok(drafts.into_iter().map(|(_, draft)| draft.spec).collect());
        }
        self.0.sort_by_key(|(file, line, _)| (*file, *line));
        let path = |file: usize| files.get(file).map_or("", |file| file.path).to_owned();
        let problem = |(file, line, wrong)| PlanFileProblem { file: path(file), line, wrong };
        Err(self.0.into_iter().map(problem).collect())
    }
}
