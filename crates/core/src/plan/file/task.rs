//! Parsing of a task file, or of a goal in a sentence or a paragraph.

use super::front::TaskKeys;
use super::name;
use super::outline::{Outline, TextBlock};
use super::problem::{BRIEF_BYTES_MAX, PlanFileMistake};
use super::section::{Sections, is_nothing, parse_scope};
use crate::plan::TaskSpec;
use crate::policy::Overrides;

/// A parsed task, before its dependencies are resolved among all tasks.
#[derive(Debug)]
pub(super) struct TaskDraft {
    pub(super) spec: TaskSpec,
    /// The line of its beginning.
    pub(super) line: u32,
    /// The dependencies as written, with the line of each.
    pub(super) needs: Vec<(String, u32)>,
    pub(super) problems: Vec<(u32, PlanFileMistake)>,
}

impl TaskDraft {
    /// Creates a task of which only the name is known.
    pub(super) fn from_path(path: &str) -> Self {
        let spec = TaskSpec {
            name: name::name_from_file(path),
            file: Some(path.to_owned()),
            ..TaskSpec::default()
        };
        Self { spec, line: 1, needs: Vec::new(), problems: Vec::new() }
    }
}

/// A text within a file, with its lines.
pub(super) struct FileBody<'a> {
    pub(super) text: &'a str,
    /// The line number of its beginning.
    first_line: u32,
    /// The end of each line.
    ends: Vec<usize>,
}

impl<'a> FileBody<'a> {
    pub(super) fn new(file: &'a str, at: usize) -> Self {
        let text = file.get(at..).unwrap_or_default();
        let before = memchr::memchr_iter(b'\n', &file.as_bytes()[..at.min(file.len())]).count();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
        Self { text, first_line: u32::try_from(before + 1).unwrap_or(u32::MAX), ends }
    }

    /// Returns the line number in the file of a position in the text.
    pub(super) fn line_number(&self, at: usize) -> u32 {
        let lines = self.ends.partition_point(|end| *end < at);
        self.first_line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX))
    }
}

/// Parses a task file.
pub(super) fn parse_task(
    path: &str,
    keys: TaskKeys,
    body: &FileBody<'_>,
    outline: &Outline,
) -> TaskDraft {
    let sections = Sections::from_outline(outline);
    let scope = parse_scope(body.text, &sections.scope);
    let mut problems = keys.problems;
    problems.extend(scope.problems.into_iter().map(|(at, wrong)| (body.line_number(at), wrong)));
    if body.text.len() > BRIEF_BYTES_MAX {
        problems.push((body.line_number(0), PlanFileMistake::TooLong(body.text.len())));
    }
    let goal = find_goal(body, &sections, outline).unwrap_or_else(|problem| {
        problems.push(problem);
        String::new()
    });
    let name = keys.id.unwrap_or_else(|| name::name_from_file(path));
    let title = match keys.title.as_deref().or(sections.title.map(strip_kind)) {
        Some(title) => name::make_title(title),
        None => name::name_to_words(&name),
    };
    let spec = TaskSpec {
        name,
        title,
        goal,
        brief: body.text.to_owned(),
        priority: keys.priority,
        overrides: Overrides { budget: keys.budget, ..Overrides::default() },
        scope: scope.spec,
        serialize: keys.serialize,
        validate: keys.validate,
        provider: keys.provider,
        phase: keys.phase,
        model: keys.model,
        file: Some(path.to_owned()),
        ..TaskSpec::default()
    };
    let mut needs = keys.depends_on;
    needs.extend(sections.needs.iter().flat_map(|leaf| names_in_item(body, leaf)));
    TaskDraft { spec, line: 1, needs, problems }
}

/// Returns the goal: its section, or the first paragraph, or any other text.
fn find_goal(
    body: &FileBody<'_>,
    sections: &Sections<'_>,
    outline: &Outline,
) -> Result<String, (u32, PlanFileMistake)> {
    let text = |leaf: &TextBlock| body.text.get(leaf.range.clone()).unwrap_or_default().trim();
    if let Some(goal) = &sections.goal {
        let text = body.text.get(goal.range.clone()).unwrap_or_default().trim();
        let line = body.line_number(goal.range.start.saturating_sub(1));
        return if goal.empty { Err((line, PlanFileMistake::NoGoal)) } else { Ok(text.to_owned()) };
    }
    let first = sections.first.map(text).filter(|text| !text.is_empty());
    let said = |leaf: &&TextBlock| !leaf.text.trim().is_empty();
    let other = || outline.leaves.iter().find(said).map(|leaf| leaf.text.trim());
    let found = first.or_else(|| sections.title.map(strip_kind)).or_else(other);
    found.map(str::to_owned).ok_or((body.line_number(0), PlanFileMistake::Empty))
}

/// Strips the kind from a title: `Task 12: Add timeouts` becomes `Add timeouts`.
fn strip_kind(title: &str) -> &str {
    let title = title.trim();
    let Some((kind, rest)) = title.split_once([':', '—', '–']) else { return title };
    let kind = kind.trim();
    let task = kind.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("task"));
    let number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || " -_#".contains(c));
    if task && number(&kind[4..]) && !rest.trim().is_empty() { rest.trim() } else { title }
}

/// Returns the tasks that an item of the section names. An item that reads like a sentence is for the agent.
fn names_in_item(body: &FileBody<'_>, leaf: &TextBlock) -> Vec<(String, u32)> {
    let line = body.line_number(leaf.range.start);
    let raw = body.text.get(leaf.range.clone()).unwrap_or_default();
    let coded: Vec<&str> = raw.split('`').skip(1).step_by(2).collect();
    let names: Vec<&str> = if !coded.is_empty() {
        coded.into_iter().filter(|name| name::is_name(name)).collect()
    } else if leaf.depth > 0 {
        leaf.text.split(',').filter_map(task_name).collect()
    } else {
        Vec::new()
    };
    names.into_iter().map(|name| (name.to_owned(), line)).collect()
}

fn task_name(said: &str) -> Option<&str> {
    let alone = said.split_whitespace().nth(1).is_none();
    let first = said.split_whitespace().next()?;
    let first = first.trim_matches(|letter: char| !letter.is_alphanumeric());
    let like_a_name = alone || first.contains(|c: char| c.is_ascii_digit() || c == '-' || c == '_');
    (like_a_name && !is_nothing(first)).then_some(first)
}

/// Creates the task for the goal `text`.
pub fn task_from_goal(text: &str) -> Result<TaskSpec, PlanFileMistake> {
    let text = text.trim();
    let Some(first) = text.lines().next() else { return Err(PlanFileMistake::Empty) };
    if text.len() > BRIEF_BYTES_MAX {
        return Err(PlanFileMistake::TooLong(text.len()));
    }
    Ok(TaskSpec {
        name: name::make_slug(first),
        title: name::make_title(first),
        goal: text.to_owned(),
        ..TaskSpec::default()
    })
}
