//! Commits with the repository's own hooks.

use std::fs;

use unstuck_core::fault::{Code, Kind};
use unstuck_testkit::stage::{run_git, write_program};
use unstuck_world::workspace::CommitOutcome;

use super::{commit, wording};
use crate::support::block_on;
use crate::support::task_worktree::{Stage, put};

fn hook(stage: &Stage, name: &str, script: &str) {
    write_program(&stage.repo.path(format!(".git/hooks/{name}")), script);
}

#[test]
fn one_commit_on_the_base_holds_the_whole_change() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    let commit = || block_on(commit(&workspace, &wording("A title\n\nBody\n"), &stage));
    assert_eq!(commit(), Ok(CommitOutcome::Nothing));
    put(&workspace, "a", "2");
    run_git(workspace.directory(), ["commit", "-q", "-am", "the agent's own"]);
    put(&workspace, "new", "2");
    let Ok(CommitOutcome::As { commit: made, by_hook: false }) = commit() else { panic!() };
    assert_eq!(commit(), Ok(CommitOutcome::As { commit: made.clone(), by_hook: false }));
    assert_eq!(stage.repo.oid("unstuck/b1.t1"), made);
    assert_eq!(stage.repo.oid(&format!("{made}^")), stage.first);
    let shown = stage.repo.git(["show", "--format=%an %s", "--name-only", made.as_str()]);
    assert_eq!(shown, "Ada A title\n\na\nnew");
    assert_eq!(run_git(workspace.directory(), ["status", "--porcelain"]), "");
}

// T4.25: the hook by name, its exit status and what it said.
#[test]
fn a_hook_that_refuses_is_a_check_that_failed() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    hook(&stage, "pre-commit", "echo not like this; git diff --cached --name-only; exit 3");
    let fault = block_on(commit(&workspace, &wording("x"), &stage)).unwrap_err();
    assert_eq!(fault.source, "hook:pre-commit");
    let Kind::ValidationPreCommit(context) = &fault.kind else { panic!("{fault}") };
    assert_eq!((context.command.as_str(), context.exit), ("pre-commit", Some(3)));
    assert_eq!(context.output, "not like this\na\n");
    assert_eq!(stage.repo.oid("unstuck/b1.t1"), stage.first);
}

// T4.25, B15: no agent writes the message, so a refused one is a person's to decide.
#[test]
fn a_hook_that_refuses_the_message_is_a_question_with_both() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    for name in ["prepare-commit-msg", "commit-msg"] {
        hook(&stage, name, "echo not like this; exit 4");
        let fault = block_on(commit(&workspace, &wording("x"), &stage)).unwrap_err();
        let Kind::PreconditionMissing(missing) = &fault.kind else { panic!("{fault}") };
        assert!(fault.is_refusal(), "{fault}");
        assert_eq!(missing.what, name);
        assert!(fault.message.contains("not like this"), "{}", fault.message);
        let cause = fault.cause.as_deref().unwrap_or_default();
        let file = format!(".git/hooks/{name}");
        assert!(cause.contains(&file) && cause.contains("“x”"), "{cause}");
        assert_eq!(stage.repo.oid("unstuck/b1.t1"), stage.first);
        fs::remove_file(stage.repo.path(&file)).unwrap();
    }
}

// B15: what the machine lacks is no fault of the work, and a file of the project is
#[test]
fn a_hook_that_lacks_a_program_is_a_question_with_its_name() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1"), ("tools/lint", "")]);
    put(&workspace, "a", "2");
    let refused = |script: &str| {
        hook(&stage, "pre-commit", script);
        block_on(commit(&workspace, &wording("x"), &stage)).unwrap_err()
    };
    for script in ["exec no-such-linter .", "no-such-linter . || exit 1"] {
        let fault = refused(script);
        let Kind::PreconditionMissing(missing) = &fault.kind else { panic!("{fault}") };
        assert_eq!(
            missing.what,
            "no-such-linter, which the pre-commit hook of your repository needs"
        );
        assert!(fault.message.contains("not found"), "{}", fault.message);
    }
    for script in ["lint || exit 1", "no-such-linter; echo a DRAFT needs an owner; exit 1"] {
        assert_eq!(refused(script).code(), Code::ValidationPreCommit, "{script}");
    }
}

#[test]
fn a_hook_may_change_what_is_committed_and_that_is_said() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    hook(&stage, "pre-commit", "echo formatted >a; git add a");
    hook(&stage, "commit-msg", "echo 'Checked-by: hook' >>\"$1\"");
    let committed = block_on(commit(&workspace, &wording("A title\n\n"), &stage)).unwrap();
    let CommitOutcome::As { commit, by_hook: true } = committed else { panic!("{committed:?}") };
    assert_eq!(stage.repo.git(["show", &format!("{commit}:a")]), "formatted");
    assert!(stage.repo.git(["show", "-s", "--format=%B", commit.as_str()]).contains("Checked-by"));
}

// T4.15: the commit that git cannot make is a fault of its own, and is made at the next chance.
#[test]
fn a_commit_that_git_cannot_make_can_be_made_later() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    stage.repo.git(["config", "commit.gpgSign", "true"]);
    stage.repo.git(["config", "gpg.program", "false"]);
    let commit = || block_on(commit(&workspace, &wording("x"), &stage));
    assert_eq!(commit().unwrap_err().code(), Code::GitCommitFailed);
    stage.repo.git(["config", "commit.gpgSign", "false"]);
    fs::write(stage.repo.path(".git/refs/heads/unstuck/b1.t1.lock"), "").unwrap();
    assert_eq!(commit().unwrap_err().code(), Code::GitLocked);
    fs::remove_file(stage.repo.path(".git/refs/heads/unstuck/b1.t1.lock")).unwrap();
    assert!(matches!(commit(), Ok(CommitOutcome::As { .. })));
}

// Hooks need not be where they usually are, and what is not said here is for git to know.
#[test]
fn hooks_in_another_folder_are_respected() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    let commit = || block_on(commit(&workspace, &wording("x"), &stage));
    hook(&stage, "pre-commit", "exit 3");
    stage.repo.git(["config", "core.hooksPath", "no-such-folder"]);
    assert!(
        matches!(commit(), Ok(CommitOutcome::As { by_hook: false, .. })),
        "the usual one is off"
    );
    let folder = stage.repo.beside("hooks");
    stage.repo.git(["config", "core.hooksPath", folder.to_str().unwrap()]);
    write_program(&folder.join("pre-commit"), "exit 3");
    assert_eq!(commit().unwrap_err().code(), Code::ValidationPreCommit);
}
