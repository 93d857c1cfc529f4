//! Plan files, and ticking their items.

use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use super::{files, one, told};
use crate::plan::file::{ChecklistMark, tick_item};

#[test]
fn a_plan_file_is_its_open_items() {
    let text = "# Friday\n\nSome words.\n\n- [ ] Add **timeouts** to `http`\n  - [ ] and a test\n\n  More.\n\
                - [x] Done already\n* [ ] Fix the login\n+ no box\n\n## Then\n\n1. [ ] First\n   - with care\n2. [X] Was done\n\
                3. [ ] Second\n4. [ ] First\n";
    let tasks = files(&[("plan.md", text)]).unwrap();
    let told: Vec<_> = tasks
        .iter()
        .map(|t| (t.name.as_str(), t.title.as_str(), t.brief.as_str(), t.depends_on.concat()))
        .collect();
    let expected = [
        (
            "add-timeouts-to-http",
            "Add timeouts to http",
            "Add **timeouts** to `http`\n- [ ] and a test\n\nMore.",
            "",
        ),
        ("fix-the-login", "Fix the login", "", ""),
        ("first", "First", "First\n- with care", ""),
        ("second", "Second", "", "first"),
        ("first-2", "First", "", "second"),
    ];
    assert_eq!(
        told,
        expected.map(|(name, title, brief, needs)| (name, title, brief, needs.to_owned()))
    );
    assert!(tasks.iter().all(|task| task.file.as_deref() == Some("plan.md")));
}

#[test]
fn the_first_line_of_an_item_is_its_title() {
    let text =
        "- [ ] Faster importer\n  It takes 40 seconds.\n- [ ] Use Vec<T> <!-- later --> here\n";
    let tasks = files(&[("plan.md", text)]).unwrap();
    let told: Vec<_> =
        tasks.iter().map(|t| (t.title.as_str(), t.goal.as_str(), t.brief.as_str())).collect();
    let expected = [
        ("Faster importer", "Faster importer It takes 40 seconds.", ""),
        ("Use Vec<T> here", "Use Vec<T>  here", "Use Vec<T> <!-- later --> here"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn boxes_in_a_task_file_are_no_tasks() {
    for text in [
        "## Goal\nx\n- [ ] a\n",
        "---\ntitle: x\n---\n- [ ] a\n",
        "# x\n## Requirements\n- [ ] a\n",
        "# x\n> - [ ] a\n",
    ] {
        assert_eq!(one("x.md", text).name, "x", "{text}");
    }
}

#[test]
fn a_plan_that_is_done_has_no_task() {
    let tasks = files(&[("plan.md", "- [x] a\n"), ("b.md", "b")]).unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(
        told(&[("plan.md", "- [x] a\n")]),
        "plan.md: there is nothing left to do: every item is ticked (write `- [ ]` before what is to be done)"
    );
}

/// Items in an open item are part of it, and are ticked with it.
#[test]
fn what_stands_in_an_item_is_done_with_it() {
    let plan = "- [ ] Sing a song\n  - [ ] first verse\n  - [x] second verse\n- [ ] Dance\n";
    let tasks = files(&[("plan.md", plan)]).unwrap();
    assert_eq!(
        tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(),
        ["sing-a-song", "dance"]
    );
    assert!(tasks[0].brief.contains("first verse"), "{:?}", tasks[0].brief);
    let ticked = tick_item(plan, "sing-a-song", ChecklistMark::Done).unwrap();
    assert_eq!(
        ticked,
        "- [x] Sing a song\n  - [x] first verse\n  - [x] second verse\n- [ ] Dance\n"
    );
}

/// An open item in a ticked one, or in one without a box, is a task of its own.
#[test]
fn an_open_item_in_a_ticked_one_is_a_task() {
    let plan = "- [x] Phase 1\n  - [ ] left over\n- Phase 2\n  1. [ ] begin\n     - [ ] a part\n  2. [ ] end\n";
    let tasks = files(&[("plan.md", plan)]).unwrap();
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["left-over", "begin", "end"]);
    assert_eq!(tasks[2].depends_on, ["begin"]);
    let ticked = tick_item(plan, "begin", ChecklistMark::Done).unwrap();
    assert!(ticked.contains("1. [x] begin\n     - [x] a part\n  2. [ ] end"), "{ticked}");
    let ticked = tick_item(&ticked, "left-over", ChecklistMark::Done).unwrap();
    assert!(ticked.starts_with("- [x] Phase 1\n  - [x] left over\n"), "{ticked}");
}

/// An item that needed no change has a mark of its own, and is not a task of the next run.
#[test]
fn an_item_that_needed_no_change_is_marked_so() {
    let marked = tick_item("- [ ] a\n- [ ] b\n", "a", ChecklistMark::NotNeeded).unwrap();
    assert_eq!(marked, "- [-] a\n- [ ] b\n");
    let left = files(&[("plan.md", &marked)]).unwrap();
    assert_eq!(left.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn one_item_is_ticked_and_nothing_else_changes() {
    let table = [
        ("- [ ] a\n- [ ] b\n", "b", Some("- [ ] a\n- [x] b\n")),
        ("- [ ] a\r\n- [ ] b\r\n", "a", Some("- [x] a\r\n- [ ] b\r\n")),
        ("*\t[ ] a\n+ [ ] b", "a", Some("*\t[x] a\n+ [ ] b")),
        ("-   [\t] a\n", "a", Some("-   [x] a\n")),
        ("12. [ ] a\n", "a", Some("12. [x] a\n")),
        ("- [ ] a\n- [ ] a\n- [ ] a\n", "a-2", Some("- [ ] a\n- [x] a\n- [ ] a\n")),
        ("- [x] a\n- [ ] a\n", "a-2", Some("- [x] a\n- [x] a\n")),
        ("- [x] a\n", "a", None),
        ("- [ ] a\n", "b", None),
        ("- [ ] a\n\n  - [ ] b\n", "b", None),
        ("## Goal\nx\n- [ ] a\n", "a", None),
        ("---\nid: x\n---\n- [ ] a\n", "a", None),
        ("```\n- [ ] a\n```\n- [ ] a\n", "a", Some("```\n- [ ] a\n```\n- [x] a\n")),
        ("\u{feff}- [ ] a\n", "a", Some("\u{feff}- [x] a\n")),
    ];
    for (text, item, expected) in table {
        assert_eq!(
            tick_item(text, item, ChecklistMark::Done).as_deref(),
            expected,
            "{text:?} {item}"
        );
    }
}

proptest! {
    #[test]
    fn ticking_changes_nothing_but_boxes(
        lines in prop::collection::vec(
            ("( {0,3})([-*+]|[0-9]{1,3}[.)])[ \t]{1,4}\\[[ xX\t]\\] {0,2}[a-b`*_ ]{0,6}(\r\n|\n)", any::<bool>()), 0..12),
        pick: prop::sample::Index,
    ) {
        let mut text = String::new();
        for (line, blank) in &lines {
            text.push_str(line);
            text.push_str(if *blank { "\n" } else { "" });
        }
        let Ok(tasks) = files(&[("x.md", &text)]) else { return Ok(()) };
        let task = &tasks[pick.index(tasks.len())];
        let Some(ticked) = tick_item(&text, &task.name, ChecklistMark::Done) else {
            // There is no checkbox, so the file is a task.
            prop_assert_eq!(&task.name, "x");
            return Ok(());
        };
        let changed: Vec<_> = text.bytes().zip(ticked.bytes()).filter(|(a, b)| a != b).collect();
        prop_assert!(!changed.is_empty());
        prop_assert!(changed.iter().all(|both| matches!(both, (b' ' | b'\t', b'x'))), "{changed:?}");
        prop_assert_eq!(ticked.len(), text.len());
        let left = files(&[("x.md", &ticked)]).map_or(0, |tasks| tasks.len());
        prop_assert_eq!(left, tasks.len() - 1);
        prop_assert!(tick_item(&ticked, &task.name, ChecklistMark::Done).is_none());
    }
}
