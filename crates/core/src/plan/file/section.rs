//! The sections of a task file: maps each text to the goal, the scope or the needs.
//!
//! Headings may have any level and any case, so a section ends at the next known one, or at a heading that is
//! no deeper than its own.

use std::ops::Range;

use super::outline::{BlockKind, Outline, TextBlock};

/// A known section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskSection {
    Goal,
    Scope,
    Side(ScopeSide),
    Needs,
    /// A section that only a task has, for the agent to read.
    Brief,
    Other,
}

/// A side of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeSide {
    Allowed,
    Forbidden,
}

impl ScopeSide {
    /// Returns the side that a heading or label names.
    pub(super) fn from_label(label: &str) -> Option<Self> {
        let label = normalize_heading(label);
        let words = label.split(' ').count();
        match label.split(' ').next()? {
            _ if label == "in scope" => Some(Self::Allowed),
            _ if matches!(label.as_str(), "out of scope" | "not allowed" | "off limits") => {
                Some(Self::Forbidden)
            }
            "allowed" if words <= 3 => Some(Self::Allowed),
            "forbidden" if words <= 3 => Some(Self::Forbidden),
            _ => None,
        }
    }
}

/// The goal of a task.
#[derive(Debug)]
pub(super) struct GoalSection {
    pub(super) range: Range<usize>,
    pub(super) empty: bool,
}

/// The parts of a task file.
#[derive(Debug, Default)]
pub(super) struct Sections<'a> {
    pub(super) title: Option<&'a str>,
    pub(super) goal: Option<GoalSection>,
    /// The first paragraph outside the sections.
    pub(super) first: Option<&'a TextBlock>,
    pub(super) scope: Vec<(TaskSection, &'a TextBlock)>,
    pub(super) needs: Vec<&'a TextBlock>,
    /// `true` if there is a section that only a task has.
    pub(super) of_a_task: bool,
}

impl<'a> Sections<'a> {
    pub(super) fn from_outline(outline: &'a Outline) -> Self {
        let mut sections = Self::default();
        let mut now = TaskSection::Other;
        let mut level = 0;
        for leaf in &outline.leaves {
            match leaf.kind {
                BlockKind::Heading(deep) if leaf.depth == 0 => {
                    let stays = now == TaskSection::Goal && deep > level;
                    let named = section_named(&leaf.text, now);
                    if named.is_none() && stays {
                        sections.extend_goal(leaf);
                        continue;
                    }
                    (now, level) = (named.unwrap_or(TaskSection::Other), deep);
                    sections.begin_section(leaf, named, deep);
                }
                _ => sections.take_block(now, leaf),
            }
        }
        sections
    }

    fn begin_section(&mut self, leaf: &'a TextBlock, named: Option<TaskSection>, level: u8) {
        match named {
            Some(TaskSection::Goal) if self.goal.is_none() => {
                let range = leaf.range.end..leaf.range.end;
                self.goal = Some(GoalSection { range, empty: true });
            }
            None if level == 1 && self.title.is_none() && !leaf.text.trim().is_empty() => {
                self.title = Some(&leaf.text);
            }
            _ => {}
        }
        self.of_a_task |=
            matches!(named, Some(TaskSection::Goal | TaskSection::Scope | TaskSection::Brief));
    }

    fn take_block(&mut self, now: TaskSection, leaf: &'a TextBlock) {
        match now {
            TaskSection::Goal => self.extend_goal(leaf),
            TaskSection::Scope | TaskSection::Side(_) => self.scope.push((now, leaf)),
            TaskSection::Needs => self.needs.push(leaf),
            TaskSection::Other if leaf.kind == BlockKind::Text && leaf.depth == 0 => {
                self.first.get_or_insert(leaf);
            }
            TaskSection::Other | TaskSection::Brief => {}
        }
    }

    fn extend_goal(&mut self, leaf: &TextBlock) {
        if let Some(goal) = &mut self.goal {
            goal.range.end = goal.range.end.max(leaf.range.end);
            goal.empty &= leaf.text.trim().is_empty();
        }
    }
}

fn section_named(title: &str, now: TaskSection) -> Option<TaskSection> {
    match normalize_heading(title).as_str() {
        "goal" | "goals" => Some(TaskSection::Goal),
        "scope" => Some(TaskSection::Scope),
        "dependencies" | "depends on" => Some(TaskSection::Needs),
        "requirements" | "definition of done" | "acceptance criteria" => Some(TaskSection::Brief),
        other if matches!(now, TaskSection::Scope | TaskSection::Side(_)) => {
            ScopeSide::from_label(other).map(TaskSection::Side)
        }
        _ => None,
    }
}

/// Normalizes a heading for comparison: `2. **Goal:**` becomes `goal`.
fn normalize_heading(title: &str) -> String {
    let mark = |letter: char| !letter.is_alphabetic();
    let words = title.trim_matches(mark).split_whitespace();
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}
