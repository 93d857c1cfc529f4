//! The structure of a Markdown text: headings, paragraphs, code, and list items.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A block of text without its markup.
#[derive(Debug)]
pub(super) struct TextBlock {
    pub(super) kind: BlockKind,
    pub(super) range: Range<usize>,
    /// Number of lists that contain it.
    pub(super) depth: usize,
    /// The text without markup.
    pub(super) text: String,
    /// The text as a title: what is marked as code keeps its marks.
    pub(super) title: String,
    /// The end of the first line within the title, if there are more lines.
    first_line_end: Option<usize>,
}

impl TextBlock {
    /// Returns the first line of the title.
    pub(super) fn first_line(&self) -> &str {
        let end = self.first_line_end.unwrap_or(self.title.len());
        self.title.get(..end).unwrap_or(&self.title)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Heading(u8),
    Text,
    Code,
}

#[derive(Debug)]
pub(super) struct ListItem {
    pub(super) range: Range<usize>,
    /// The range of the checkbox, and whether it is ticked.
    pub(super) check: Option<(Range<usize>, bool)>,
    /// The list it belongs to.
    pub(super) list: usize,
    /// `true` if its list is numbered.
    pub(super) numbered: bool,
    /// Number of lists that contain it.
    pub(super) depth: usize,
}

/// The structure of a text. Block quotes are left out.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) leaves: Vec<TextBlock>,
    /// All items, nested ones included, in the order of the text.
    pub(super) items: Vec<ListItem>,
    lists: Vec<bool>,
    /// The open items, outermost first.
    around: Vec<usize>,
    list: usize,
    quotes: usize,
    open: bool,
}

impl Outline {
    pub(super) fn parse(text: &str) -> Self {
        let mut outline = Self::default();
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
            outline.take_event(event, range);
        }
        outline
    }

    fn take_event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start_tag(&tag, range),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(words) => {
                self.continue_block(range);
                self.add_text(&words, "");
            }
            Event::Code(words) => {
                self.continue_block(range);
                let mark = if words.contains('`') { "``" } else { "`" };
                self.add_text(&words, mark);
            }
            // `Vec<T>` in a sentence looks like HTML and is the author's own word.
            Event::InlineHtml(words) if !words.starts_with("<!--") => {
                self.continue_block(range);
                self.add_text(&words, "");
            }
            Event::SoftBreak | Event::HardBreak => {
                self.end_line();
                self.add_text(" ", "");
            }
            Event::TaskListMarker(ticked) if self.quotes == 0 => {
                let item = self.around.last().and_then(|at| self.items.get_mut(*at));
                if let Some(item) = item {
                    item.check = Some((range, ticked));
                }
            }
            _ => {}
        }
    }

    fn start_tag(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::List(number) => {
                self.open = false;
                self.lists.push(number.is_some());
                self.list += usize::from(self.lists.len() == 1);
            }
            Tag::Item => {
                self.open = false;
                if let (Some(numbered), 0) = (self.lists.last(), self.quotes) {
                    let list = self.list;
                    let numbered = *numbered;
                    let depth = self.lists.len();
                    self.around.push(self.items.len());
                    self.items.push(ListItem { range, check: None, list, numbered, depth });
                }
            }
            Tag::Heading { level, .. } => self.begin_block(BlockKind::Heading(*level as u8), range),
            Tag::Paragraph => self.begin_block(BlockKind::Text, range),
            Tag::CodeBlock(_) => self.begin_block(BlockKind::Code, range),
            Tag::HtmlBlock => self.open = false,
            _ => self.continue_block(range),
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::List(_) => {
                self.open = false;
                self.lists.pop();
            }
            TagEnd::Item => {
                self.open = false;
                if self.quotes == 0 {
                    self.around.pop();
                }
            }
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::CodeBlock => {
                self.open = false;
            }
            _ => {}
        }
    }

    fn begin_block(&mut self, kind: BlockKind, range: Range<usize>) {
        if self.quotes == 0 {
            let depth = self.lists.len();
            self.leaves.push(TextBlock {
                kind,
                range,
                depth,
                text: String::new(),
                title: String::new(),
                first_line_end: None,
            });
            self.open = true;
        }
    }

    /// Begins a block if none is open, since the items of a tight list have no paragraph; otherwise extends
    /// it.
    fn continue_block(&mut self, range: Range<usize>) {
        if !self.open {
            return self.begin_block(BlockKind::Text, range);
        }
        if let Some(leaf) = self.leaves.last_mut() {
            leaf.range.end = leaf.range.end.max(range.end);
        }
    }

    fn end_line(&mut self) {
        if self.open
            && let Some(leaf) = self.leaves.last_mut()
        {
            leaf.first_line_end.get_or_insert(leaf.title.len());
        }
    }

    /// Adds words to the open block; in its title, they are between two of these marks.
    fn add_text(&mut self, words: &str, mark: &str) {
        if self.open
            && let Some(leaf) = self.leaves.last_mut()
        {
            leaf.text.push_str(words);
            leaf.title.extend([mark, words, mark]);
        }
    }
}
