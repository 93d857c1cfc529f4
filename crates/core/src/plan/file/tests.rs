//! Tests of files as people write them.

use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use super::{
    ChecklistMark, DependencyState, ExternalTask, FILE_BYTES_MAX, PlanFileMistake, PlanFileProblem,
    PlanSource, TASKS_MAX, parse_tasks, parse_tasks_with_external, task_from_goal, task_names,
    tick_item,
};
use crate::amount::Amount;
use crate::plan::{Plan, TaskSpec};

fn files<'a>(files: &[(&'a str, &'a str)]) -> Result<Vec<TaskSpec>, Vec<PlanFileProblem>> {
    parse_tasks(&files.iter().map(|&(path, text)| PlanSource { path, text }).collect::<Vec<_>>())
}

fn one(path: &str, text: &str) -> TaskSpec {
    let mut tasks = files(&[(path, text)]).unwrap();
    assert_eq!(tasks.len(), 1, "{text}");
    tasks.remove(0)
}

/// Returns the problems as a person would read them.
fn told(given: &[(&str, &str)]) -> String {
    let problems = files(given).unwrap_err();
    let line = |problem: &PlanFileProblem| match problem.hint() {
        Some(hint) => format!("{problem} ({hint})"),
        None => problem.to_string(),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

const FULL: &str = "\
---
id: timeouts
title: Add timeouts to every request
priority: 5
serialize: true
provider: claude-cli
model: opus
validate: [cargo test, cargo clippy]
budget:
  money: $2.50
  tokens: 200_000
  time: 45m
---
# Task: Timeouts

## Goal

Every request ends after *30 seconds*.

It says so.

## Scope
### Allowed
- `src/http/**`
### Forbidden
- `src/http/tls/**`

## Requirements
- [ ] no new dependency

## Definition of Done
- [ ] a test hangs no more

## Notes
See the wiki.
";

#[test]
fn a_task_file_says_everything_about_its_task() {
    let task = one("tasks/001-timeouts.md", FULL);
    assert_eq!(task.name, "timeouts");
    assert_eq!(task.title, "Add timeouts to every request");
    assert_eq!(task.goal, "Every request ends after *30 seconds*.\n\nIt says so.");
    assert_eq!((task.priority, task.serialize), (5, true));
    assert_eq!(
        (task.provider.as_deref(), task.model.as_deref()),
        (Some("claude-cli"), Some("opus"))
    );
    assert_eq!(task.validate, Some(vec!["cargo test".to_owned(), "cargo clippy".to_owned()]));
    let budget = Amount { money_micros: 2_500_000, tokens: 200_000, time_ms: 45 * 60_000 };
    assert_eq!(task.overrides.budget, Some(budget));
    assert_eq!(task.scope.allowed, ["src/http/**"]);
    assert_eq!(task.scope.forbidden, ["src/http/tls/**"]);
    assert_eq!(task.file.as_deref(), Some("tasks/001-timeouts.md"));
    let body = FULL.split_once("---\n# ").unwrap().1;
    assert_eq!(task.brief, format!("# {body}"), "nothing that was written is lost");
}

#[test]
fn a_name_a_title_and_a_goal_are_found_in_what_is_there() {
    let table = [
        (
            "a/001-add-timeouts.md", "Do it.\nAll of it.\n\nLater.", "Add timeouts",
            "Do it.\nAll of it.",
        ),
        ("x.md", "# Task: Login\n\nFix it.\n", "Login", "Fix it."),
        (
            "x.md",
            "# TASK-001: Login: now\n\n## GOAL:\nFix it.\n# Done\nYes",
            "Login: now",
            "Fix it.",
        ),
        (
            "x.md",
            "# Goal\nFix it.\n## Why\nBecause.\n## Scope\nAll",
            "X",
            "Fix it.\n## Why\nBecause.",
        ),
        ("x.md", "# Only a title", "Only a title", "Only a title"),
        ("x.md", "Title\n=====\n\n- one\n- two\n", "Title", "Title"),
        ("x.md", "- one\n- two\n", "X", "one"),
        ("x.md", "\u{feff}---\r\ntitle: T\r\n---\r\n\r\nFix it.\r\n", "T", "Fix it."),
        ("x.md", "---\n---\nFix it.\n", "X", "Fix it."),
        ("x.md", "---\n# only a comment\n...\nFix it.\n", "X", "Fix it."),
        ("x.md", "> quoted\n\nFix it.", "X", "Fix it."),
        ("x.md", "#### 1. Goal\n**Fix** `it`\n", "X", "**Fix** `it`"),
    ];
    for (path, text, title, goal) in table {
        let task = one(path, text);
        assert_eq!((task.title.as_str(), task.goal.as_str()), (title, goal), "{text}");
    }
}

#[test]
fn budgets_and_checks_take_short_forms() {
    let task = one("a.md", "---\nbudget: 2.5\nvalidate: make check\ndepends_on:\n---\nGo.");
    assert_eq!(task.overrides.budget, Some(Amount { money_micros: 2_500_000, ..Amount::ZERO }));
    assert_eq!(task.validate, Some(vec!["make check".to_owned()]));
    assert_eq!(task.depends_on, [""; 0]);
}

#[test]
fn needs_are_found_by_name_number_and_beginning() {
    let needs = [
        ("---\ndepends_on: 001\n---\nx", "001-first"),
        ("---\ndepends_on: [\"1\"]\n---\nx", "001-first"),
        ("---\ndepends_on: 001-first\n---\nx", "001-first"),
        ("---\ndepends_on: 001-first.md\n---\nx", "001-first"),
        ("---\ndepends_on:\n  - TASK-002\n---\nx", "TASK-002-second"),
        ("---\ndepends_on: task-002-SECOND\n---\nx", "TASK-002-second"),
        ("# x\n## Goal\nx\n## Dependencies\n- TASK-002: the second\n- None\n", "TASK-002-second"),
        ("# x\n## Goal\nx\n## Depends on\n* `001`\n* A database that is up\n", "001-first"),
        (
            "# x\n## Goal\nx\n## Dependencies\n- [TASK-002](./TASK-002-second.md)\n",
            "TASK-002-second",
        ),
        ("# x\n## Goal\nx\n## Dependencies\nNone\n\n- 2\n", "TASK-002-second"),
    ];
    for (text, expected) in needs {
        let tasks = files(&[("001-first.md", "a"), ("t/TASK-002-second.md", "b"), ("c.md", text)]);
        let tasks = tasks.unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        assert_eq!(tasks[2].depends_on, [expected], "{text}");
        assert!(Plan::new(tasks).is_ok());
    }
}

#[test]
fn several_needs_are_kept_once_each() {
    let text = "---\ndepends_on: [a, b]\n---\n# x\n## Dependencies\n- `a`, `b`\n- b, a\n";
    let tasks = files(&[("a.md", "a"), ("b.md", "b"), ("c.md", text)]).unwrap();
    assert_eq!(tasks[2].depends_on, ["a", "b"]);
}

#[test]
fn a_goal_is_a_task() {
    let task = task_from_goal("  Add a timeout to every request\nand test it.\n").unwrap();
    assert_eq!(task.name, "add-a-timeout-to-every-request");
    assert_eq!(task.title, "Add a timeout to every request");
    assert_eq!(task.goal, "Add a timeout to every request\nand test it.");
    assert_eq!(task_from_goal(" \n "), Err(PlanFileMistake::Empty));
}

#[test]
fn the_usual_layout_is_read_as_it_is() {
    let login = include_str!("../../../../../testdata/tasks/TASK-002-login-page.md");
    let given =
        [(".ai/tasks/TASK-001-accounts.md", "x"), (".ai/tasks/TASK-002-login-page.md", login)];
    let tasks = files(&given).unwrap();
    let task = &tasks[1];
    assert_eq!((task.name.as_str(), task.title.as_str()), ("TASK-002-login-page", "Login page"));
    assert_eq!(task.goal, "People sign in with their e-mail address.");
    assert_eq!(task.scope.allowed, ["web/login/**", "web/routes.ts"]);
    assert_eq!(task.scope.forbidden, ["web/admin/**"]);
    assert_eq!(task.depends_on, ["TASK-001-accounts"]);
    assert_eq!(task.brief, login);
}

#[test]
fn what_is_done_and_there_needs_no_task_of_this_build() {
    let roof =
        PlanSource { path: "tasks/002-roof.md", text: "---\ndepends_on: [001]\n---\n# Roof\n\nr" };
    let base = |standing| [ExternalTask { name: "001-base".to_owned(), standing }];
    let tasks = parse_tasks_with_external(&[roof], &base(DependencyState::There)).unwrap();
    assert_eq!(tasks[0].depends_on, [""; 0]);
    let not_done = DependencyState::NotThere {
        why: "which is not done".to_owned(),
        way: "`unstuck run tasks/001-base.md` does it".to_owned(),
    };
    let problems = parse_tasks_with_external(&[roof], &base(not_done)).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "tasks/002-roof.md:2: it needs `001-base`, which is not done"
    );
    assert_eq!(problems[0].hint().unwrap(), "`unstuck run tasks/001-base.md` does it");
    // A name that occurs nowhere is unknown.
    let problems = parse_tasks_with_external(&[roof], &[]).unwrap_err();
    assert!(matches!(problems[0].wrong, PlanFileMistake::UnknownNeed { .. }), "{problems:?}");
    assert_eq!(task_names(&roof), ["002-roof"]);
}

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
            "Add timeouts to `http`",
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

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let broken = "---\nid: a b\ntitel: x\nneeds: z\nwhatever: 1\npriority: high\nserialize: maybe\n\
                  validate: {a: b}\nbudget: {money: much, token: 3, time: 0}\nmodel: [x]\nid: c\n---\n\
                  ## Goal\n\n## Scope\n### Forbidden\n- The database\n- `../x`\n";
    insta::assert_snapshot!(told(&[
        ("tasks/a.md", broken),
        ("tasks/b.md", ""),
        ("c.md", "---\nid: x\n")
    ]));
}

#[test]
fn names_and_needs_are_checked_over_all_files() {
    let given = [
        ("a/001-x.md", "x"),
        ("b/001-x.md", "---\nid: 001-x\ndepends_on: [nothing-like-it, 001-y]\n---\nx"),
        ("001-y.md", "---\ntitle: y\ndepends_on: 001-z\n---\ny"),
        ("001-z.md", "# z\n## Goal\nz\n## Dependencies\n- 001-y\n- 001\n- 001-yy\n"),
        ("plan.md", "- [ ] 001 z\n- [ ]\n\n  empty"),
    ];
    insta::assert_snapshot!(told(&given));
}

#[test]
fn broken_front_matter_names_its_line() {
    let table = [
        ("---\nid: x\ntitle: [a\n---\nx", 3),
        ("---\nid: x\n\ttitle: b\n---\nx", 2),
        ("---\njust words\n---\nx", 2),
        ("---\n- a\n- b\n---\nx", 2),
        ("---\na: &a [x, x]\nb: *a\n---\nx", 3),
        ("---\n%YAML 1.2\n---\nx", 2),
    ];
    for (text, line) in table {
        let problems = files(&[("x.md", text)]).unwrap_err();
        assert_eq!(problems[0].line, Some(line), "{text}: {problems:?}");
    }
}

#[test]
fn limits_hold() {
    let deep = format!("---\nid: {}x{}\n---\nx", "[".repeat(2_000), "]".repeat(2_000));
    assert!(files(&[("x.md", &deep)]).is_err());
    let nested = (0..400).map(|n| " ".repeat(n) + "- x\n").collect::<String>();
    assert!(files(&[("x.md", &nested)]).is_ok());
    let quoted = format!("{} x", ">".repeat(20_000));
    assert!(files(&[("x.md", &quoted)]).is_err());
    let bomb = "---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n---\nx";
    assert!(
        files(&[("x.md", bomb)]).unwrap_err().iter().any(|p| p.wrong == PlanFileMistake::Alias)
    );
    let plan = |count: usize| "- [ ] a\n".repeat(count);
    assert_eq!(files(&[("x.md", &plan(TASKS_MAX))]).unwrap().len(), TASKS_MAX);
    let too_much = [
        "x".repeat(FILE_BYTES_MAX + 1),
        format!("---\ntitle: {}\n---\nx", "x".repeat(20_000)),
        plan(TASKS_MAX + 1),
        "long words ".repeat(20_000),
    ];
    let told: Vec<String> = too_much.iter().map(|text| told(&[("x.md", text)])).collect();
    insta::assert_snapshot!(told.join("\n"));
    let many = vec![("x.md", too_much[3].as_str()); 200];
    assert_eq!(files(&many).unwrap_err()[0].wrong, PlanFileMistake::TooLargeTogether);
}

#[test]
fn what_is_no_text_names_its_line() {
    let problem = PlanSource::from_bytes("x.md", b"a\nb\xff\n").unwrap_err();
    assert_eq!(problem.to_string(), "x.md:2: this is not text in UTF-8");
    assert!(PlanSource::from_bytes("x.md", "ä".as_bytes()).is_ok());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_lines_that_exist(
        text in "(---\n)?([-*#>`\\[\\] x:a-c0-9.&|{}!\"'\t\r]{0,12}\n){0,12}(---\n)?\\PC{0,40}",
    ) {
        match files(&[("x.md", &text)]) {
            Ok(tasks) => prop_assert!(Plan::new(tasks).is_ok()),
            Err(problems) => {
                let lines = u32::try_from(text.matches('\n').count()).unwrap() + 1;
                for problem in problems {
                    prop_assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{problem}");
                }
            }
        }
    }
}
