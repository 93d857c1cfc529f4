//! Task files and goals.

use super::{files, one};
use crate::plan::Plan;
use crate::plan::file::{
    DependencyState, ExternalTask, PlanFileMistake, PlanSource, parse_tasks_with_external,
    task_from_goal, task_names,
};
use crate::policy::Amount;

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
            "a/001-add-timeouts.md",
            "Do it.\nAll of it.\n\nLater.",
            "Add timeouts",
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
    let login = include_str!("../../../../../../testdata/tasks/TASK-002-login-page.md");
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
