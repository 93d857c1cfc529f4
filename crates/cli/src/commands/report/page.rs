//! The layout of a report before it becomes text, Markdown or HTML: all of them have the same text in the
//! same order.

use unstuck_runner::report::Report;

use super::{operators, sections};
use crate::render::{when, words};

/// A report with its layout.
pub(super) struct Page {
    pub(super) title: String,
    /// The time of the build, and its duration.
    pub(super) times: String,
    pub(super) headline: String,
    pub(super) remarks: Vec<String>,
    pub(super) sections: Vec<Section>,
}

/// A section under a heading.
#[derive(Default)]
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) lines: Vec<String>,
    pub(super) items: Vec<Item>,
    pub(super) table: Option<Table>,
    /// For operators: folded where the format allows it.
    pub(super) folded: bool,
}

/// An item of a section.
#[derive(Default)]
pub(super) struct Item {
    /// The sign, which only repeats the heading.
    pub(super) mark: &'static str,
    pub(super) title: String,
    pub(super) facts: Vec<Piece>,
    pub(super) lines: Vec<Vec<Piece>>,
    /// Output of a program, unchanged.
    pub(super) output: String,
    /// Choices, each with its command.
    pub(super) choices: Vec<(String, String)>,
}

/// A short piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Prose.
    Words(String),
    /// A literal: a commit, a command, a code.
    Code(String),
}

/// Rows with a heading; the last row is the sum of the others.
pub(super) struct Table {
    pub(super) head: [&'static str; 4],
    pub(super) rows: Vec<[String; 4]>,
}

impl Page {
    pub(super) fn of(report: &Report) -> Self {
        let mut all = sections::of(report);
        all.extend(operators::of(report));
        all.retain(|section| !section.is_empty());
        let name = words::plain_line(&report.project);
        Self {
            title: format!("{name}: build {}", report.build),
            times: times(report),
            headline: report.headline.clone(),
            remarks: report.remarks.clone(),
            sections: all,
        }
    }
}

impl Section {
    const fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.items.is_empty() && self.table.is_none()
    }
}

impl Item {
    /// Creates an item with this sign and title.
    pub(super) fn new(mark: &'static str, title: &str) -> Self {
        Self { mark, title: title.to_owned(), ..Self::default() }
    }

    /// Adds a sentence.
    pub(super) fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(vec![Piece::Words(line.into())]);
        self
    }
}

impl Piece {
    pub(super) fn words(words: impl Into<String>) -> Self {
        Self::Words(words.into())
    }

    pub(super) fn code(code: impl Into<String>) -> Self {
        Self::Code(code.into())
    }

    /// Returns the text of either kind.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Words(text) | Self::Code(text) => text,
        }
    }
}

fn times(report: &Report) -> String {
    let began = when::minute(report.started_at);
    let took = report.cost.took_ms;
    match report.ended_at {
        Some(ended) => format!("{began} to {}, {took}", when::minute(ended)),
        None => format!("since {began}, {took} so far"),
    }
}
