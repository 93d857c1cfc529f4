//! The check marks of list items: the comparison of two versions of a text, and marks of one version in
//! another.

use std::collections::BTreeMap;

use super::matter::{split_front_matter, strip_byte_order_mark};
use super::outline::{ListItem, Outline};

/// A line with a checkbox, without its mark: the parts before and after it.
type UnmarkedLine<'a> = (&'a str, &'a str);

/// Returns whether two texts differ in the check marks of list items (`[ ]`, `[x]`, `[-]`) and in nothing
/// else.
///
/// ```
/// use unstuck_core::plan::file::differ_only_in_marks;
///
/// assert!(differ_only_in_marks("- [ ] Sing\n", "- [x] Sing\n"));
/// assert!(!differ_only_in_marks("- [ ] Sing\n", "- [x] Dance\n"));
/// ```
pub fn differ_only_in_marks(one: &str, other: &str) -> bool {
    if one == other || one.len() != other.len() {
        return false;
    }
    let marks = find_marks(one);
    let others = find_marks(other);
    let mut pairs = one.bytes().zip(other.bytes()).enumerate();
    pairs.all(|(at, (a, b))| {
        a == b || marks.binary_search(&at).is_ok() && others.binary_search(&at).is_ok()
    })
}

/// Returns a third version of a text with the marks that differ between two others: each one is put on the
/// line that is the same apart from its mark. Returns `None` if such a line is missing or not the only one.
pub fn carry_marks(before: &str, after: &str, to: &str) -> Option<String> {
    let lines = index_marks(before);
    let targets = index_marks(to);
    let mut carried = to.to_owned();
    for at in find_marks(before) {
        let mark = after.get(at..=at)?;
        if before.get(at..=at)? == mark {
            continue;
        }
        let line = split_line(before, at)?;
        lines.get(&line).copied().flatten()?;
        let target = targets.get(&line).copied().flatten()?;
        carried.replace_range(target..=target, mark);
    }
    Some(carried)
}

/// Returns a text with the marks of an earlier version, on every line that is the same apart from its mark
/// and the only such line in both.
pub fn restore_marks(before: &str, text: &str) -> String {
    let lines = index_marks(before);
    let mut restored = text.to_owned();
    for (line, at) in index_marks(text) {
        if let (Some(at), Some(Some(from))) = (at, lines.get(&line))
            && let Some(mark) = before.get(*from..=*from)
        {
            restored.replace_range(at..=at, mark);
        }
    }
    restored
}

/// Returns the places of the marks by their lines; `None` for a line that occurs more than once.
fn index_marks(text: &str) -> BTreeMap<UnmarkedLine<'_>, Option<usize>> {
    let mut index = BTreeMap::new();
    for at in find_marks(text) {
        if let Some(line) = split_line(text, at) {
            index.entry(line).and_modify(|place| *place = None).or_insert(Some(at));
        }
    }
    index
}

fn split_line(text: &str, mark: usize) -> Option<UnmarkedLine<'_>> {
    let before = text.get(..mark)?.rsplit('\n').next()?;
    let after = text.get(mark + 1..)?.split('\n').next()?;
    Some((before, after))
}

/// Returns the places of the marks of all list items, in the order of the text. A mark is one byte.
fn find_marks(text: &str) -> Vec<usize> {
    let plain = strip_byte_order_mark(text);
    let Ok((_, start)) = split_front_matter(plain) else { return Vec::new() };
    let body = plain.get(start..).unwrap_or_default();
    let shift = text.len() - body.len();
    let outline = Outline::parse(body);
    let mut marks: Vec<usize> = outline
        .items
        .iter()
        .filter_map(|item| find_mark(body, item))
        .map(|at| at + shift)
        .collect();
    marks.sort_unstable();
    marks
}

/// Returns the place of an item's mark. Markdown itself does not know `[-]`.
fn find_mark(body: &str, item: &ListItem) -> Option<usize> {
    if let Some((check, _)) = &item.check {
        return Some(check.start + body.get(check.clone())?.find('[')? + 1);
    }
    let text = body.get(item.range.clone())?;
    let rest = text.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix(['-', '*', '+', '.', ')'])?.trim_start_matches([' ', '\t']);
    let after = rest.strip_prefix("[-]")?;
    let is_box = after.starts_with(char::is_whitespace);
    is_box.then(|| item.range.start + text.len() - rest.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_of_list_items_count_as_marks() {
        for (one, other, expected) in [
            ("- [ ] a\n- [ ] b\n", "- [x] a\n- [-] b\n", true),
            ("- [-] a\n", "- [ ] a\n", true),
            ("12. [-] a\r\n", "12. [X] a\r\n", true),
            ("\u{feff}- [ ] a\n", "\u{feff}- [x] a\n", true),
            ("---\nid: a\n---\n# A\n- [ ] a\n", "---\nid: a\n---\n# A\n- [x] a\n", true),
            ("- [ ] é\n  - [ ] b\n", "- [x] é\n  - [x] b\n", true),
            ("- [ ] a\n", "- [ ] a\n", false),
            ("- [ ] a\n", "- [x] b\n", false),
            ("- [ ] a\n", "- [?] a\n", false),
            ("- [ ] a\n", "- [x] a\n\n", false),
            ("```\n- [ ] a\n```\n", "```\n- [x] a\n```\n", false),
            ("a = [ ] b\n", "a = [x] b\n", false),
            ("---\na: [ ]\n", "---\na: [x]\n", false),
        ] {
            assert_eq!(differ_only_in_marks(one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn marks_are_carried_to_the_same_lines_of_another_text() {
        let (before, after) = ("- [ ] a\n- [ ] b\n", "- [x] a\n- [-] b\n");
        let to = "# Plan\n- [ ] b\n- [x] new\n- [x] a\n";
        let carried = carry_marks(before, after, to);
        assert_eq!(carried.as_deref(), Some("# Plan\n- [-] b\n- [x] new\n- [x] a\n"));
        assert_eq!(carry_marks(before, after, "- [ ] a\n- [ ] c\n"), None);
        assert_eq!(carry_marks(before, after, "- [ ] a\n- [ ] a\n- [ ] b\n"), None);
        assert_eq!(carry_marks("- [ ] a\n- [ ] a\n", "- [x] a\n- [ ] a\n", "- [ ] a\n"), None);
    }

    #[test]
    fn marks_are_restored_beside_other_edits() {
        let before = "- [ ] a\n- [x] b\n- [ ] c\n- [ ] c\n";
        let text = "- [x] a\n  a note\n- [ ] b\n- [x] new\n- [x] c\n";
        let restored = "- [ ] a\n  a note\n- [x] b\n- [x] new\n- [x] c\n";
        assert_eq!(restore_marks(before, text), restored);
    }
}
