//! Problems in files, and the limits of their size.

use proptest::prelude::{prop_assert, proptest};

use super::{files, told};
use crate::plan::Plan;
use crate::plan::file::{FILE_BYTES_MAX, PlanFileMistake, PlanSource, TASKS_MAX};

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
