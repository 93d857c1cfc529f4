//! A plan file: a list whose items with a checkbox are the tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::matter::{split_front_matter, strip_byte_order_mark};
use super::name;
use super::outline::{ListItem, Outline, TextBlock};
use super::problem::{BRIEF_BYTES_MAX, PlanFileMistake};
use super::section::Sections;
use super::task::{FileBody, TaskDraft};
use crate::plan::TaskSpec;

/// The mark written into the checkbox of a finished item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecklistMark {
    /// `[x]`: the item is done.
    Done,
    /// `[-]`: no change was needed. Such an item is no longer a task.
    NotNeeded,
}

impl ChecklistMark {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "x",
            Self::NotNeeded => "-",
        }
    }
}

/// Returns the text with the checkbox of an item marked, and those of its nested items, which are part of it;
/// no other byte is changed. Returns `None` if the text is not a plan, or has no open item of this name.
///
/// ```
/// use unstuck_core::plan::file::{ChecklistMark, tick_item};
///
/// let plan = "# Friday\n\n* [ ] Add timeouts\n* [ ] Fix the login\n";
/// let ticked = tick_item(plan, "fix-the-login", ChecklistMark::Done).unwrap();
/// assert_eq!(ticked, "# Friday\n\n* [ ] Add timeouts\n* [x] Fix the login\n");
/// ```
pub fn tick_item(text: &str, item: &str, mark: ChecklistMark) -> Option<String> {
    let plain = strip_byte_order_mark(text);
    let (None, _) = split_front_matter(plain).ok()? else { return None };
    let outline = Outline::parse(plain);
    if !is_plan(&outline) {
        return None;
    }
    let boxed =
        checkbox_items(&outline).into_iter().find(|boxed| boxed.name == item && !boxed.ticked)?;
    let mut ticked = text.to_owned();
    for (check, is_ticked) in outline.items.iter().filter_map(|item| item.check.clone()) {
        if is_ticked || !boxed.item.range.contains(&check.start) {
            continue;
        }
        let inside = check.start + plain.get(check)?.find('[')? + 1;
        let inside = inside + text.len() - plain.len();
        ticked.replace_range(inside..=inside, mark.as_str());
    }
    Some(ticked)
}

/// Returns whether a text without front matter is a plan: it has checkboxes, and no section that only a task
/// has.
pub(super) fn is_plan(outline: &Outline) -> bool {
    outline.items.iter().any(|item| item.check.is_some())
        && !Sections::from_outline(outline).of_a_task
}

/// Returns the tasks of a plan: its open items.
pub(super) fn parse_checklist(
    path: &str,
    body: &FileBody<'_>,
    outline: &Outline,
) -> Vec<TaskDraft> {
    let mut drafts: Vec<TaskDraft> = Vec::new();
    let mut before: Option<(usize, String)> = None;
    for boxed in checkbox_items(outline).into_iter().filter(|boxed| !boxed.ticked) {
        let mut draft = draft_item(path, body, &boxed);
        if let Some((list, name)) = before.take()
            && list == boxed.item.list
            && boxed.item.numbered
        {
            draft.spec.depends_on.push(name);
        }
        before = Some((boxed.item.list, boxed.name));
        drafts.push(draft);
    }
    drafts
}

/// An item with a checkbox.
struct CheckboxItem<'a> {
    item: &'a ListItem,
    /// The range of the checkbox.
    check: Range<usize>,
    ticked: bool,
    /// The text of the item.
    leaf: Option<&'a TextBlock>,
    name: String,
}

/// Returns all items with a checkbox that are not nested in an open one: items in an open item are part of
/// it. An item keeps its name when another one is ticked, so equal texts are numbered over all items, those
/// of the outermost lists first.
fn checkbox_items(outline: &Outline) -> Vec<CheckboxItem<'_>> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    let (outermost, inner): (Vec<&ListItem>, Vec<&ListItem>) =
        outline.items.iter().partition(|item| item.depth == 1);
    for item in outermost.into_iter().chain(inner).filter(|item| item.check.is_some()) {
        let mut name = name::make_slug(item_text(outline, item).map_or("", |leaf| &leaf.text));
        let count = counts.entry(name.clone()).or_insert(1);
        let plain = name.clone();
        while !taken.insert(name.clone()) {
            *count += 1;
            name = format!("{plain}-{count}");
        }
        names.insert(item.range.start, name);
    }
    // The end of the open item found last.
    let mut open_until = 0;
    let boxed = outline.items.iter().filter_map(|item| {
        let (check, ticked) = item.check.clone()?;
        if item.range.start < open_until {
            return None;
        }
        if !ticked {
            open_until = item.range.end;
        }
        let name = names.remove(&item.range.start)?;
        Some(CheckboxItem { item, check, ticked, leaf: item_text(outline, item), name })
    });
    boxed.collect()
}

/// Returns the first block of an item that is its own and not that of a nested list.
fn item_text<'a>(outline: &'a Outline, item: &ListItem) -> Option<&'a TextBlock> {
    let at = outline.leaves.partition_point(|leaf| leaf.range.start < item.range.start);
    let leaf = outline.leaves.get(at)?;
    let own = leaf.depth == item.depth && leaf.range.start < item.range.end;
    (own && !leaf.text.trim().is_empty()).then_some(leaf)
}

fn draft_item(path: &str, body: &FileBody<'_>, boxed: &CheckboxItem<'_>) -> TaskDraft {
    let line = body.line_number(boxed.check.start);
    let said = boxed.leaf.map_or("", |leaf| leaf.text.trim());
    let brief =
        unindent_text(body.text.get(boxed.check.end..boxed.item.range.end).unwrap_or_default());
    let mut problems = Vec::new();
    if said.is_empty() {
        problems.push((line, PlanFileMistake::EmptyItem));
    }
    if brief.len() > BRIEF_BYTES_MAX {
        problems.push((line, PlanFileMistake::TooLong(brief.len())));
    }
    let title = boxed.leaf.map_or("", |leaf| leaf.first_line().trim());
    let is_all = brief.split_whitespace().eq(said.split_whitespace());
    let spec = TaskSpec {
        name: boxed.name.clone(),
        title: name::make_title(title),
        goal: said.to_owned(),
        brief: if is_all { String::new() } else { brief },
        file: Some(path.to_owned()),
        ..TaskSpec::default()
    };
    TaskDraft { spec, line, needs: Vec::new(), problems }
}

/// Returns the text of an item without its indentation.
fn unindent_text(text: &str) -> String {
    let text = text.trim();
    let blank = |line: &&str| !line.trim().is_empty();
    let depth = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let margin = text.lines().skip(1).filter(blank).map(depth).min().unwrap_or(0);
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push('\n');
        out.push_str(line.get(margin..).unwrap_or_default());
    }
    out
}
