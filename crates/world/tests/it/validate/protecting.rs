//! A check that was edited does not count.

use unstuck_world::validate::GateVerdict;

use super::{protecting_checks, run};
use crate::support::task_worktree::{Stage, changed, paths, put, text};

const PROTECT: [&str; 1] = ["tests/**"];

// B19: a check made green by editing the check is put back before it runs, and that is said.
#[test]
fn an_edited_check_is_put_back_before_it_runs() {
    let (stage, workspace) =
        Stage::with_worktree(&[("tests/run.sh", "grep -q done a\n"), ("a", "open\n")]);
    put(&workspace, "tests/run.sh", "exit 0\n");
    put(&workspace, "tests/more.sh", "exit 0\n");
    put(&workspace, "a", "half\n");
    let checks = protecting_checks(&["sh tests/run.sh"], &PROTECT);
    let GateVerdict::Red { seen, .. } = run(&stage, &workspace, &checks, &["a"], None) else {
        panic!()
    };
    let restored = seen.restored.unwrap();
    assert_eq!(restored.paths, paths(&["tests/run.sh"]), "a new test is work");
    assert!(std::fs::read_to_string(&restored.patch).unwrap().contains("exit 0"));
    assert_eq!(text(&workspace, "tests/run.sh"), "grep -q done a\n");
    assert_eq!(changed(&workspace), paths(&["a", "tests/more.sh"]));

    put(&workspace, "a", "done\n");
    let GateVerdict::Green(seen) = run(&stage, &workspace, &checks, &["a"], None) else { panic!() };
    assert_eq!(seen.restored, None);
}

// B19: unless the task's scope names them.
#[test]
fn a_task_about_the_check_may_change_it() {
    let (stage, workspace) = Stage::with_worktree(&[("tests/run.sh", "exit 1\n")]);
    put(&workspace, "tests/run.sh", "exit 0\n");
    let checks = protecting_checks(&["sh tests/run.sh"], &PROTECT);
    let verdict = run(&stage, &workspace, &checks, &["tests/run.sh"], None);
    assert!(matches!(verdict, GateVerdict::Green(seen) if seen.restored.is_none()));
}
