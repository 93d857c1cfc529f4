//! A change is looked through for secrets before it is committed.

use unstuck_core::fault::{Code, Kind};
use unstuck_world::validate::SecretScanner;

use crate::support::block_on;
use crate::support::task_worktree::{Stage, put};

#[test]
fn a_secret_in_the_change_is_a_red_check_that_does_not_repeat_it() {
    let (_stage, workspace) = Stage::with_worktree(&[("a", "1\n"), ("old", "canary-value-1\n")]);
    let secrets = SecretScanner::new(["canary-value-1"]);
    put(&workspace, "a", "1\n2\n");
    assert_eq!(secrets.check_patch(&block_on(workspace.create_patch()).unwrap()), Ok(()));
    put(&workspace, "deep/new", "x\npassword = canary-value-1\n");
    let fault = secrets.check_patch(&block_on(workspace.create_patch()).unwrap()).unwrap_err();
    assert_eq!(fault.code(), Code::ValidationPreCommit);
    let Kind::ValidationPreCommit(context) = &fault.kind else { panic!() };
    assert_eq!(context.output, "deep/new:2: a secret (value)");
    assert!(!format!("{fault:?}").contains("canary"));
}
