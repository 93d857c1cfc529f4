//! The sections of a task file: maps each text to the goal, the scope or the needs.
//!
//! Headings may have any level and any case, so a section ends at the next known one, or at a heading that is
//! no deeper than its own.

use std::ops::Range;

use super::outline::{Kind, Leaf, Outline};

/// A known section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Goal,
    Scope,
    Side(Side),
    Needs,
    /// A section that only a task has, for the agent to read.
    Brief,
    Other,
}

/// A side of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Allowed,
    Forbidden,
}

impl Side {
    /// Returns the side that a heading or label names.
    pub(super) fn named(label: &str) -> Option<Self> {
        let label = plain(label);
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
pub(super) struct Goal {
    pub(super) range: Range<usize>,
    pub(super) empty: bool,
}

/// The parts of a task file.
#[derive(Debug, Default)]
pub(super) struct Sections<'a> {
    pub(super) title: Option<&'a str>,
    pub(super) goal: Option<Goal>,
    /// The first paragraph outside the sections.
    pub(super) first: Option<&'a Leaf>,
    pub(super) scope: Vec<(Section, &'a Leaf)>,
    pub(super) needs: Vec<&'a Leaf>,
    /// `true` if there is a section that only a task has.
    pub(super) of_a_task: bool,
}

impl<'a> Sections<'a> {
    pub(super) fn of(outline: &'a Outline) -> Self {
        let mut sections = Self::default();
        let mut now = Section::Other;
        let mut level = 0;
        for leaf in &outline.leaves {
            match leaf.kind {
                Kind::Heading(deep) if leaf.depth == 0 => {
                    let stays = now == Section::Goal && deep > level;
                    let named = named(&leaf.text, now);
                    if named.is_none() && stays {
                        sections.extend_goal(leaf);
                        continue;
                    }
                    (now, level) = (named.unwrap_or(Section::Other), deep);
                    sections.begin(leaf, named, deep);
                }
                _ => sections.take(now, leaf),
            }
        }
        sections
    }

    fn begin(&mut self, leaf: &'a Leaf, named: Option<Section>, level: u8) {
        match named {
            Some(Section::Goal) if self.goal.is_none() => {
                let range = leaf.range.end..leaf.range.end;
                self.goal = Some(Goal { range, empty: true });
            }
            None if level == 1 && self.title.is_none() && !leaf.text.trim().is_empty() => {
                self.title = Some(&leaf.text);
            }
            _ => {}
        }
        self.of_a_task |= matches!(named, Some(Section::Goal | Section::Scope | Section::Brief));
    }

    fn take(&mut self, now: Section, leaf: &'a Leaf) {
        match now {
            Section::Goal => self.extend_goal(leaf),
            Section::Scope | Section::Side(_) => self.scope.push((now, leaf)),
            Section::Needs => self.needs.push(leaf),
            Section::Other if leaf.kind == Kind::Text && leaf.depth == 0 => {
                self.first.get_or_insert(leaf);
            }
            Section::Other | Section::Brief => {}
        }
    }

    fn extend_goal(&mut self, leaf: &Leaf) {
        if let Some(goal) = &mut self.goal {
            goal.range.end = goal.range.end.max(leaf.range.end);
            goal.empty &= leaf.text.trim().is_empty();
        }
    }
}

fn named(title: &str, now: Section) -> Option<Section> {
    match plain(title).as_str() {
        "goal" | "goals" => Some(Section::Goal),
        "scope" => Some(Section::Scope),
        "dependencies" | "depends on" => Some(Section::Needs),
        "requirements" | "definition of done" | "acceptance criteria" => Some(Section::Brief),
        other if matches!(now, Section::Scope | Section::Side(_)) => {
            Side::named(other).map(Section::Side)
        }
        _ => None,
    }
}

/// Normalizes a heading for comparison: `2. **Goal:**` becomes `goal`.
fn plain(title: &str) -> String {
    let mark = |letter: char| !letter.is_alphabetic();
    let words = title.trim_matches(mark).split_whitespace();
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}
