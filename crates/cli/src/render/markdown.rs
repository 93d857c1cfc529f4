//! Renders Unstuck's own Markdown pages on a terminal: headings, paragraphs, lists, code and tables.
//!
//! The pages are part of Unstuck, so a construct that is not drawn here (an image, raw HTML) falls back to
//! its text.

// Writing to a string cannot fail, so the result is ignored.
use std::fmt::Write as _;
use std::io;

use anstyle::Style;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::style::{CODE, DIM, STRONG, StyledPiece, TITLE, pieces_width, wrap_pieces};

/// Columns by which a list item or code block is indented.
const INDENT: usize = 2;

/// Writes a page, laid out for `width` columns.
pub(crate) fn write_markdown(out: &mut impl io::Write, page: &str, width: usize) -> io::Result<()> {
    let mut layout = MarkdownLayout::new(width);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        layout.handle_event(event);
    }
    out.write_all(layout.out.trim_start_matches('\n').as_bytes())
}

/// The state of the conversion to lines: the block being collected and its context.
struct MarkdownLayout {
    out: String,
    width: usize,
    /// Styled pieces of the block being collected.
    pieces: Vec<StyledPiece>,
    style: Style,
    /// The next number of each enclosing list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The bullet or number before the first line of the block.
    marker: String,
    verbatim: bool,
    /// The address of the link being read.
    link: Option<String>,
    /// The rows of the table, each with its cells.
    table: Vec<Vec<Vec<StyledPiece>>>,
}

impl MarkdownLayout {
    fn new(width: usize) -> Self {
        Self {
            out: String::new(),
            width,
            pieces: Vec::new(),
            style: Style::new(),
            lists: Vec::new(),
            marker: String::new(),
            verbatim: false,
            link: None,
            table: Vec::new(),
        }
    }

    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(&tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) if self.verbatim => self.write_code(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.push_text(self.style, &text);
            }
            Event::Code(text) => self.push_text(CODE, &text),
            Event::SoftBreak | Event::HardBreak => self.push_text(self.style, " "),
            Event::Rule => self.out.push('\n'),
            _ => {}
        }
    }

    fn start_tag(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.out.push('\n');
                self.style = TITLE;
            }
            Tag::Paragraph if self.lists.is_empty() => self.out.push('\n'),
            Tag::Strong => self.style = STRONG,
            Tag::Emphasis => self.style = Style::new().italic(),
            // A relative link into the repository leads nowhere from a terminal; only its text remains.
            Tag::Link { dest_url, .. } => {
                self.link = dest_url.starts_with("http").then(|| dest_url.to_string());
            }
            Tag::List(first) => {
                // A nested list ends the text of the item around it.
                self.flush_block();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
                self.lists.push(*first);
            }
            Tag::Item => self.marker = self.next_marker(),
            Tag::CodeBlock(_) => {
                self.out.push('\n');
                self.verbatim = true;
            }
            Tag::Table(_) => self.table.clear(),
            Tag::TableHead => {
                self.style = DIM;
                self.table.push(Vec::new());
            }
            Tag::TableRow => self.table.push(Vec::new()),
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item => {
                self.flush_block();
                self.style = Style::new();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::TableHead => self.style = Style::new(),
            TagEnd::Link => {
                if let Some(address) = self.link.take() {
                    self.push_text(DIM, &format!(" ({address})"));
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => self.verbatim = false,
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.pieces);
                if let Some(row) = self.table.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.draw_table(),
            _ => {}
        }
    }

    fn push_text(&mut self, style: Style, text: &str) {
        self.pieces.push((style, text.to_owned()));
    }

    fn next_marker(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        }
    }

    fn write_code(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.out, "{:INDENT$}{CODE}{line}{CODE:#}", "");
        }
    }

    /// Writes the collected block, wrapped to the width.
    fn flush_block(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        if pieces.is_empty() {
            return;
        }
        let margin = INDENT * self.lists.len();
        let marker = std::mem::take(&mut self.marker);
        let text = wrap_pieces(&pieces, margin + marker.chars().count(), self.width);
        let _ = writeln!(self.out, "{:margin$}{marker}{text}", "");
    }

    /// Writes the table with aligned columns; the last column takes the remaining width.
    fn draw_table(&mut self) {
        let rows = std::mem::take(&mut self.table);
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| pieces_width(cell)).max()
        };
        let widths: Vec<usize> =
            (0..columns.saturating_sub(1)).map(|column| widest(column).unwrap_or(0)).collect();
        self.out.push('\n');
        for row in &rows {
            let mut column = INDENT;
            let _ = write!(self.out, "{:INDENT$}", "");
            for (cell, wide) in row.iter().zip(&widths) {
                let text = wrap_pieces(cell, column, usize::MAX);
                let padding = wide - pieces_width(cell) + INDENT;
                let _ = write!(self.out, "{text}{:padding$}", "");
                column += wide + INDENT;
            }
            let last = row.get(widths.len()).map(|cell| wrap_pieces(cell, column, self.width));
            let _ = writeln!(self.out, "{}", last.unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(page: &str, width: usize) -> String {
        let mut out = Vec::new();
        write_markdown(&mut out, page, width).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn plain(page: &str, width: usize) -> String {
        anstream::adapter::strip_str(&drawn(page, width)).to_string()
    }

    const PAGE: &str = "\
# EXAMPLE

One sentence that is long enough to be *wrapped* somewhere near the `unstuck explain` in the middle,
with **stress**, and [a link](https://example.com).

| column | value |
| --- | --- |
| class | `env_error` |
| a longer name | x, and then so much that the cell has to be wrapped |

## What you can do

- First, a point that goes on for longer than the forty columns there are.
- Second:
  1. one
  2. two
- Third.

```sh
unstuck   explain   --json
```

The end.
";

    #[test]
    fn a_page_is_laid_out_for_the_width() {
        insta::assert_snapshot!(plain(PAGE, 40));
    }

    #[test]
    fn no_line_of_prose_is_longer_than_the_width() {
        for width in 40..=96 {
            let longest = plain(PAGE, width).lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{longest:?} of {width}");
        }
    }

    #[test]
    fn wrapping_loses_no_word() {
        let words = |width| plain(PAGE, width).split_whitespace().map(str::to_owned).collect();
        let (narrow, wide): (Vec<String>, Vec<String>) = (words(40), words(96));
        assert_eq!(narrow, wide);
    }

    #[test]
    fn punctuation_sticks_to_the_word_before_it() {
        assert_eq!(plain("see `this`, and **that**.", 40), "see this, and that.\n");
    }

    #[test]
    fn headings_and_code_are_styled() {
        let expected = "\u{1b}[1mTitle\u{1b}[0m\n\nuse \u{1b}[36mit\u{1b}[0m\n";
        assert_eq!(drawn("# Title\n\nuse `it`\n", 40), expected);
    }
}
