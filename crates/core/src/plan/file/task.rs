//! Parsing of a task file.

use super::front::Keys;
use super::name;
use super::outline::{Leaf, Outline};
use super::problem::Wrong;
use super::scope::{self, is_nothing};
use super::section::Sections;
use crate::plan::TaskSpec;
use crate::policy::Overrides;

/// Maximum length of a task's text, because it is part of every prompt of the task.
pub(super) const BRIEF_BYTES_MAX: usize = 128 * 1024;

/// A parsed task, before its dependencies are resolved among all tasks.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) spec: TaskSpec,
    /// The line of its beginning.
    pub(super) line: u32,
    /// The dependencies as written, with the line of each.
    pub(super) needs: Vec<(String, u32)>,
    pub(super) problems: Vec<(u32, Wrong)>,
}

impl Draft {
    /// Creates a task of which only the name is known.
    pub(super) fn named(path: &str) -> Self {
        let spec = TaskSpec {
            name: name::from_file(path),
            file: Some(path.to_owned()),
            ..TaskSpec::default()
        };
        Self { spec, line: 1, needs: Vec::new(), problems: Vec::new() }
    }
}

/// A text within a file, with its lines.
pub(super) struct Body<'a> {
    pub(super) text: &'a str,
    /// The line number of its beginning.
    first_line: u32,
    /// The end of each line.
    ends: Vec<usize>,
}

impl<'a> Body<'a> {
    pub(super) fn new(file: &'a str, at: usize) -> Self {
        let text = file.get(at..).unwrap_or_default();
        let before = memchr::memchr_iter(b'\n', &file.as_bytes()[..at.min(file.len())]).count();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
        Self { text, first_line: u32::try_from(before + 1).unwrap_or(u32::MAX), ends }
    }

    /// Returns the line number in the file of a position in the text.
    pub(super) fn line(&self, at: usize) -> u32 {
        let lines = self.ends.partition_point(|end| *end < at);
        self.first_line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX))
    }
}

/// Parses a task file.
pub(super) fn read(path: &str, keys: Keys, body: &Body<'_>, outline: &Outline) -> Draft {
    let sections = Sections::of(outline);
    let scope = scope::read(body.text, &sections.scope);
    let mut problems = keys.problems;
    problems.extend(scope.problems.into_iter().map(|(at, wrong)| (body.line(at), wrong)));
    if body.text.len() > BRIEF_BYTES_MAX {
        problems.push((body.line(0), Wrong::TooLong(body.text.len())));
    }
    let goal = goal(body, &sections, outline).unwrap_or_else(|problem| {
        problems.push(problem);
        String::new()
    });
    let name = keys.id.unwrap_or_else(|| name::from_file(path));
    let title = match keys.title.as_deref().or(sections.title.map(without_kind)) {
        Some(title) => name::title(title),
        None => name::in_words(&name),
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
    needs.extend(sections.needs.iter().flat_map(|leaf| named_in(body, leaf)));
    Draft { spec, line: 1, needs, problems }
}

/// Returns the goal: its section, or the first paragraph, or any other text.
fn goal(
    body: &Body<'_>,
    sections: &Sections<'_>,
    outline: &Outline,
) -> Result<String, (u32, Wrong)> {
    let text = |leaf: &Leaf| body.text.get(leaf.range.clone()).unwrap_or_default().trim();
    if let Some(goal) = &sections.goal {
        let text = body.text.get(goal.range.clone()).unwrap_or_default().trim();
        let line = body.line(goal.range.start.saturating_sub(1));
        return if goal.empty { Err((line, Wrong::NoGoal)) } else { Ok(text.to_owned()) };
    }
    let first = sections.first.map(text).filter(|text| !text.is_empty());
    let said = |leaf: &&Leaf| !leaf.text.trim().is_empty();
    let other = || outline.leaves.iter().find(said).map(|leaf| leaf.text.trim());
    let found = first.or_else(|| sections.title.map(without_kind)).or_else(other);
    found.map(str::to_owned).ok_or((body.line(0), Wrong::Empty))
}

/// Strips the kind from a title: `Task 12: Add timeouts` becomes `Add timeouts`.
fn without_kind(title: &str) -> &str {
    let title = title.trim();
    let Some((kind, rest)) = title.split_once([':', '—', '–']) else { return title };
    let kind = kind.trim();
    let task = kind.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("task"));
    let number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || " -_#".contains(c));
    if task && number(&kind[4..]) && !rest.trim().is_empty() { rest.trim() } else { title }
}

/// Returns the tasks that an item of the section names. An item that reads like a sentence is for the agent.
fn named_in(body: &Body<'_>, leaf: &Leaf) -> Vec<(String, u32)> {
    let line = body.line(leaf.range.start);
    let raw = body.text.get(leaf.range.clone()).unwrap_or_default();
    let coded: Vec<&str> = raw.split('`').skip(1).step_by(2).collect();
    let names: Vec<&str> = if !coded.is_empty() {
        coded.into_iter().filter(|name| name::is_name(name)).collect()
    } else if leaf.depth > 0 {
        leaf.text.split(',').filter_map(named).collect()
    } else {
        Vec::new()
    };
    names.into_iter().map(|name| (name.to_owned(), line)).collect()
}

fn named(said: &str) -> Option<&str> {
    let alone = said.split_whitespace().nth(1).is_none();
    let first = said.split_whitespace().next()?;
    let first = first.trim_matches(|letter: char| !letter.is_alphanumeric());
    let like_a_name = alone || first.contains(|c: char| c.is_ascii_digit() || c == '-' || c == '_');
    (like_a_name && !is_nothing(first)).then_some(first)
}
