//! The sections of a task file: maps each text to the goal, the scope or the needs, and reads the globs of the scope.
//!
//! Headings may have any level and any case, so a section ends at the next known one, or at a heading that is
//! no deeper than its own. Globs are in backticks or bare, in lists, in lines after a label, or in a code block.
//! An entry of a list of globs that is not a glob is refused: a written restriction that is not enforced is worse
//! than none.

use std::ops::Range;

use super::outline::{BlockKind, Outline, TextBlock};
use super::problem::{PlanFileMistake, shorten_input};
use crate::plan::ScopeSpec;

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
                self.title = Some(&leaf.title);
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

/// Separators between two globs on a line.
const BETWEEN: [&str; 8] = ["", ",", ";", "and", "or", "&", ", and", ", or"];

/// The parsed scope, with its problems and their positions.
#[derive(Debug, Default)]
pub(super) struct ParsedScope {
    pub(super) spec: ScopeSpec,
    pub(super) problems: Vec<(usize, PlanFileMistake)>,
}

/// Parses the sections of a scope.
pub(super) fn parse_scope(body: &str, leaves: &[(TaskSection, &TextBlock)]) -> ParsedScope {
    let mut scope = ParsedScope::default();
    let mut last = None;
    let mut side = None;
    for (section, leaf) in leaves {
        if last != Some(*section) {
            last = Some(*section);
            side = match section {
                TaskSection::Side(side) => Some(*side),
                _ => None,
            };
        }
        for (line, at) in block_lines(body, leaf) {
            let (label, rest) = split_side_label(line);
            side = label.or(side);
            match (side, leaf.kind) {
                (Some(side), BlockKind::Code) => scope.add_verbatim(side, rest, at),
                (Some(side), _) => scope.add_line(side, rest, at, leaf.depth > 0),
                (None, BlockKind::Text) if leaf.depth > 0 => scope.add_lone(rest, at),
                (None, _) => {}
            }
        }
    }
    scope
}

impl ParsedScope {
    fn add_line(&mut self, side: ScopeSide, line: &str, at: usize, in_list: bool) {
        let globs = globs_in_backticks(line);
        if !globs.is_empty() {
            for glob in globs {
                self.add_glob(side, glob, at);
            }
            return;
        }
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (None, _) => {}
            (Some(word), None) if is_nothing(word) => {}
            (Some(word), more) if more.is_none() || is_path(word) => self.add_glob(side, word, at),
            _ if in_list => self.problems.push((at, PlanFileMistake::NoGlob(shorten_input(line)))),
            _ => {}
        }
    }

    /// Adds an item of a scope without sides that consists of a single glob.
    fn add_lone(&mut self, line: &str, at: usize) {
        let quoted = line.strip_prefix('`').and_then(|line| line.strip_suffix('`'));
        let quoted = quoted.filter(|glob| !glob.contains('`'));
        let glob = quoted.or_else(|| is_path(line).then_some(line));
        if let Some(glob) = glob.filter(|glob| !glob.contains(char::is_whitespace)) {
            self.add_glob(ScopeSide::Allowed, glob, at);
        }
    }

    fn add_verbatim(&mut self, side: ScopeSide, line: &str, at: usize) {
        if !line.starts_with('#') && !line.starts_with("```") && !line.starts_with("~~~") {
            self.add_glob(side, line, at);
        }
    }

    fn add_glob(&mut self, side: ScopeSide, glob: &str, at: usize) {
        let glob = glob.trim().trim_end_matches([',', ';']);
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        if glob.is_empty() {
            return;
        }
        if glob.starts_with(['/', '~']) || glob.split('/').any(|part| part == "..") {
            return self.problems.push((at, PlanFileMistake::Outside(shorten_input(glob))));
        }
        let globs = match side {
            ScopeSide::Allowed => &mut self.spec.allowed,
            ScopeSide::Forbidden => &mut self.spec.forbidden,
        };
        if globs.last().is_none_or(|last| last != glob) {
            globs.push(glob.to_owned());
        }
    }
}

/// Iterates over the lines of a block with their start, without surrounding blanks and the item's checkbox.
fn block_lines<'a>(body: &'a str, leaf: &TextBlock) -> impl Iterator<Item = (&'a str, usize)> {
    let mut at = leaf.range.start;
    let text = body.get(leaf.range.clone()).unwrap_or_default();
    text.split_inclusive('\n').map(move |line| {
        let began = at;
        at += line.len();
        let line = line.trim();
        let boxed = ["[ ] ", "[x] ", "[X] "].into_iter().find_map(|check| line.strip_prefix(check));
        (boxed.unwrap_or(line).trim(), began)
    })
}

/// Returns the side that a line names before a colon or as a whole, and the rest.
fn split_side_label(line: &str) -> (Option<ScopeSide>, &str) {
    let (head, rest) = line.split_once(':').unwrap_or((line, ""));
    let name = head.trim_matches(['*', '_', ' ']);
    match ScopeSide::from_label(name).filter(|_| !name.contains('`') && !is_path(name)) {
        Some(side) => (Some(side), rest.trim_start_matches(['*', '_', ' '])),
        None => (None, line),
    }
}

/// Returns the globs in backticks, up to where the line continues with words.
fn globs_in_backticks(line: &str) -> Vec<&str> {
    let parts: Vec<&str> = line.split('`').collect();
    let mut globs = Vec::new();
    for pair in parts.chunks(2) {
        let [before, glob] = pair else { break };
        if !globs.is_empty() && !BETWEEN.contains(&before.trim()) {
            break;
        }
        globs.push(*glob);
    }
    // The last backtick must be closed.
    if parts.len().is_multiple_of(2) && globs.len() * 2 == parts.len() {
        globs.pop();
    }
    globs
}

fn is_path(word: &str) -> bool {
    let inner = word.trim_end_matches(['.', ',', ';', ':']);
    inner.contains(['/', '*']) || inner.trim_start_matches('.').contains('.')
}

/// Returns whether a word stands for an empty entry.
pub(super) fn is_nothing(word: &str) -> bool {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    word.is_empty()
        || ["none", "nothing", "n/a", "no"].iter().any(|no| word.eq_ignore_ascii_case(no))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> ParsedScope {
        let outline = Outline::parse(text);
        parse_scope(text, &Sections::from_outline(&outline).scope)
    }

    #[test]
    fn globs_are_found_however_they_are_written() {
        let table: [(&str, &[&str], &[&str]); 15] = [
            (
                "## Scope\n### Allowed\n- `src/**`\n- docs/*.md\n### Forbidden\n- `src/db/**`\n",
                &["src/**", "docs/*.md"],
                &["src/db/**"],
            ),
            (
                "# SCOPE\n\n**Allowed:** `a`, `b` and `c`\n\n**Forbidden**: d/\n",
                &["a", "b", "c"],
                &["d/"],
            ),
            (
                "## Scope\n- **Allowed**\n  - `a`\n  - b/** (all of it)\n- **Forbidden**\n  - c\n",
                &["a", "b/**"],
                &["c"],
            ),
            ("## Scope\n**Allowed**\n\n* ./src/**\n+ [x] x\n", &["src/**", "x"], &[]),
            (
                "## Scope\n### Allowed files\n```\nsrc/**\n# not this\nlib\n```\n",
                &["src/**", "lib"],
                &[],
            ),
            ("## Scope\n### Allowed\n- None\n### Forbidden\n- n/a\n", &[], &[]),
            ("## Scope\n## Allowed\n- `a` except `b`\n", &["a"], &[]),
            ("## Scope\nAllowed: src/** lib/**\n", &["src/**"], &[]),
            (
                "## Scope\n- `src/**`\n- Only the API, not `src/db`\n- lib/x.rs\n",
                &["src/**", "lib/x.rs"],
                &[],
            ),
            ("## Scope\nEverything that `cargo fmt` changes.\n", &[], &[]),
            ("## Scope\n### Allowed\nWhatever is needed.\n", &[], &[]),
            ("## Allowed\n- `a`\n", &[], &[]),
            ("## Scope\n### Allowed\n- `a`\n## Notes\n### Forbidden\n- `b`\n", &["a"], &[]),
            ("## Scope\r\n### Allowed\r\n- `a`\r\n- b\r\n", &["a", "b"], &[]),
            (
                "## Scope\n### In scope\n- [ ] `**/*.rs`\n### Out of scope\n- **/*.md\n",
                &["**/*.rs"],
                &["**/*.md"],
            ),
        ];
        for (text, allowed, forbidden) in table {
            let scope = scope(text);
            assert_eq!(scope.spec.allowed, allowed, "{text}");
            assert_eq!(scope.spec.forbidden, forbidden, "{text}");
            assert_eq!(scope.problems, [], "{text}");
        }
    }

    #[test]
    fn what_is_no_glob_or_leads_outside_is_refused() {
        let table = [
            (
                "## Scope\n### Forbidden\n- Database migrations\n",
                "this names no file or folder: Database migrations",
            ),
            ("## Scope\n### Allowed\n- `../x`\n", "`../x` leads out of the project"),
            ("## Scope\n### Allowed\n- /etc/passwd\n", "`/etc/passwd` leads out of the project"),
            ("## Scope\n### Allowed\n- `~/x`\n", "`~/x` leads out of the project"),
        ];
        for (text, expected) in table {
            let problems = scope(text).problems;
            assert_eq!(problems.len(), 1, "{text}");
            assert_eq!(problems[0].1.to_string(), expected);
            assert_eq!(text[..problems[0].0].matches('\n').count(), 2, "{text}");
        }
    }
}
