//! The layout of a report before it becomes text, Markdown or HTML: all of them have the same text in the
//! same order.

pub(super) struct ReportLayout {
    pub(super) title: String,
    /// The time of the build, and its duration.
    pub(super) times: String,
    pub(super) headline: String,
    pub(super) remarks: Vec<String>,
    pub(super) sections: Vec<ReportSection>,
}

/// A section under a heading.
#[derive(Default)]
pub(super) struct ReportSection {
    pub(super) title: &'static str,
    pub(super) lines: Vec<String>,
    pub(super) items: Vec<ReportItem>,
    pub(super) table: Option<ReportTable>,
    /// For operators: folded where the format allows it.
    pub(super) folded: bool,
}

#[derive(Default)]
pub(super) struct ReportItem {
    /// The sign, which only repeats the heading.
    pub(super) mark: &'static str,
    pub(super) title: String,
    pub(super) facts: Vec<ReportPiece>,
    pub(super) lines: Vec<Vec<ReportPiece>>,
    /// Output of a program, unchanged.
    pub(super) output: String,
    /// Choices, each with its command.
    pub(super) choices: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReportPiece {
    Words(String),
    /// A literal: a commit, a command, a code.
    Code(String),
}

/// Rows with a heading; the last row is the sum of the others.
pub(super) struct ReportTable {
    pub(super) head: [&'static str; 4],
    pub(super) rows: Vec<[String; 4]>,
}

impl ReportSection {
    pub(super) const fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.items.is_empty() && self.table.is_none()
    }
}

impl ReportItem {
    pub(super) fn new(mark: &'static str, title: &str) -> Self {
        Self { mark, title: title.to_owned(), ..Self::default() }
    }

    pub(super) fn with_line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(vec![ReportPiece::Words(line.into())]);
        self
    }
}

impl ReportPiece {
    pub(super) fn words(words: impl Into<String>) -> Self {
        Self::Words(words.into())
    }

    pub(super) fn code(code: impl Into<String>) -> Self {
        Self::Code(code.into())
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Words(text) | Self::Code(text) => text,
        }
    }
}
