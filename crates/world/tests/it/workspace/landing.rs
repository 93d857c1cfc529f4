//! A change comes onto the build's head and becomes it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use unstuck_core::engine::{RunId, Start, TaskId};
use unstuck_core::fault::Code;
use unstuck_testkit::stage::write_program;
use unstuck_world::git::Oid;
use unstuck_world::workspace::{
    CommitOutcome, IntegrationOutcome, LandingOutcome, RemovalOutcome, Workspace, WorkspaceKey,
    WorktreeKeepReason,
};

use super::wording;
use crate::support::block_on;
use crate::support::task_worktree::{NOW, PLACE, Stage, changed, paths, put, text};

fn second(stage: &Stage) -> Workspace {
    let mut wanted = stage.preparation(Start::Fresh, 2);
    wanted.place = WorkspaceKey { task: TaskId(2), ..PLACE };
    stage.try_prepare(&wanted).unwrap()
}

fn commit(stage: &Stage, workspace: &Workspace, message: &str) -> Oid {
    match block_on(super::commit(workspace, &wording(message), stage)).unwrap() {
        CommitOutcome::As { commit, by_hook: false } => commit,
        other => panic!("{other:?}"),
    }
}

// B14: the second of two tasks is checked on the head that the first has made.
#[test]
fn the_second_task_meets_the_first_before_it_lands() {
    let stage = Stage::with(&[("a", "1\n"), ("b", "1\n")]);
    let (one, two) = (stage.fresh(), second(&stage));
    put(&one, "a", "one\n");
    put(&two, "b", "two\n");
    let first = commit(&stage, &one, "one");
    let early = commit(&stage, &two, "two");
    assert_eq!(block_on(one.fast_forward_build(&first)).unwrap(), LandingOutcome::Done);
    assert_eq!(block_on(one.fast_forward_build(&first)).unwrap(), LandingOutcome::Done);
    let moved = block_on(two.fast_forward_build(&early)).unwrap();
    assert_eq!(moved, LandingOutcome::HeadMoved { to: first.clone() });
    assert_eq!(stage.repo.oid("unstuck/b1"), first);

    let integrated = block_on(two.integrate_onto(&first, RunId(2), NOW)).unwrap();
    assert_eq!(integrated, IntegrationOutcome::Onto);
    assert_eq!((text(&two, "a"), text(&two, "b")), ("one\n".into(), "two\n".into()));
    assert_eq!(changed(&two), paths(&["b"]));
    assert_eq!(
        block_on(two.integrate_onto(&first, RunId(2), NOW)).unwrap(),
        IntegrationOutcome::Already
    );
    let second = commit(&stage, &two, "two");
    assert_eq!(block_on(two.fast_forward_build(&second)).unwrap(), LandingOutcome::Done);
    assert_eq!(stage.repo.git(["log", "--format=%s", "unstuck/b1"]), "two\none\nfirst");
    assert_eq!(block_on(two.remove_worktree(RunId(2))).unwrap(), RemovalOutcome::Gone);
    assert!(!two.directory().exists());
    assert_eq!(stage.repo.git(["branch", "--list", "unstuck/b1.t2"]), "");
}

// B89
#[test]
fn a_branch_of_a_build_that_is_deleted_comes_back_where_it_stood() {
    let stage = Stage::with(&[("a", "1\n"), ("b", "1\n")]);
    let one = stage.fresh();
    put(&one, "a", "one\n");
    let first = commit(&stage, &one, "one");
    assert_eq!(block_on(one.fast_forward_build(&first)).unwrap(), LandingOutcome::Done);
    stage.repo.git(["branch", "-q", "-D", "unstuck/b1"]);
    let two = second(&stage);
    assert_eq!(text(&two, "a"), "one\n");
    put(&two, "b", "two\n");
    stage.repo.git(["branch", "-q", "-D", "unstuck/b1"]);
    let second = commit(&stage, &two, "two");
    assert_eq!(block_on(two.fast_forward_build(&second)).unwrap(), LandingOutcome::Done);
    assert_eq!(stage.repo.git(["log", "--format=%s", "unstuck/b1"]), "two\none\nfirst");
}

// An agent's home goes with its worktree, also what a package manager made read-only in it.
#[test]
fn nothing_of_a_home_stays_when_a_worktree_goes() {
    let (_stage, workspace) = Stage::with_worktree(&[("a", "1\n")]);
    let homes: Vec<PathBuf> =
        workspace.build_wall(&[]).private.into_iter().map(|private| private.folder).collect();
    let homes: Vec<PathBuf> = homes.into_iter().filter(|home| home.is_absolute()).collect();
    assert!(!homes.is_empty());
    for home in &homes {
        fs::create_dir_all(home.join("cache/pkg")).unwrap();
        fs::write(home.join("cache/pkg/file"), "x").unwrap();
        for folder in ["cache/pkg", "cache"] {
            fs::set_permissions(home.join(folder), fs::Permissions::from_mode(0o500)).unwrap();
        }
    }
    assert_eq!(block_on(workspace.remove_worktree(RunId(1))).unwrap(), RemovalOutcome::Gone);
    assert!(homes.iter().all(|home| !home.exists()), "{homes:?}");
}

// B14: a conflict names its files; the next attempt starts on the merged head.
#[test]
fn a_conflict_names_its_files_and_is_not_forgotten() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1\n"), ("b", "1\n")]);
    put(&workspace, "a", "task\n");
    put(&workspace, "b", "task\n");
    stage.repo.write("a", "other\n");
    let head = stage.repo.commit("other");
    let fault = block_on(workspace.integrate_onto(&head, RunId(1), NOW)).unwrap_err();
    assert_eq!(fault.code(), Code::GitConflict);
    assert_eq!(fault.message, "conflict in a");
    assert_eq!(block_on(workspace.resolve_base()).unwrap(), head);
    assert!(text(&workspace, "a").contains("other\n=======\ntask\n"));
    assert_eq!(stage.repo.git(["show", "refs/unstuck/attempts/r1:a"]), "task");
    // Marks that are still there are the conflict again.
    let again = block_on(workspace.integrate_onto(&head, RunId(1), NOW)).unwrap_err();
    assert_eq!(again.signature, fault.signature);
    put(&workspace, "a", "both\n");
    assert_eq!(
        block_on(workspace.integrate_onto(&head, RunId(1), NOW)).unwrap(),
        IntegrationOutcome::Already
    );

    let workspace = stage.prepare(Start::FromBase, 2);
    assert_eq!((text(&workspace, "a"), text(&workspace, "b")), ("other\n".into(), "1\n".into()));
}

#[test]
fn a_branch_that_a_person_has_checked_out_is_not_moved() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    let commit = commit(&stage, &workspace, "one");
    stage.repo.git(["checkout", "-q", "unstuck/b1"]);
    let landed = block_on(workspace.fast_forward_build(&commit)).unwrap();
    assert_eq!(landed, LandingOutcome::InUse { by: stage.repo.root.clone() });
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_worktree_with_unsaved_work_stays() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    put(&workspace, "b", "2");
    let removed = block_on(workspace.remove_worktree(RunId(1))).unwrap();
    assert_eq!(removed, RemovalOutcome::Kept(WorktreeKeepReason::Unsaved(2)));
    assert_eq!(text(&workspace, "b"), "2");
    block_on(workspace.save_attempt(RunId(1), NOW)).unwrap();
    assert_eq!(block_on(workspace.remove_worktree(RunId(1))).unwrap(), RemovalOutcome::Gone);
    assert_eq!(stage.repo.git(["show", "refs/unstuck/attempts/r1:b"]), "2");
}

// A repository's own hook is asked before anything is sent, and told what git tells it.
#[test]
fn the_hook_before_a_push_may_refuse_it() {
    let stage = Stage::with(&[("a", "1")]);
    let remote = stage.repo.beside("remote").display().to_string();
    stage.repo.git(["init", "-q", "--bare", &remote]);
    stage.repo.git(["remote", "add", "there", &remote]);
    let (workspace, name) = (stage.fresh(), "refs/heads/unstuck/b1");
    let ask = |remote: &str| {
        block_on(workspace.pass_push_hook(remote, &stage.first, name, &stage.shell()))
    };
    assert_eq!(ask("there"), Ok(()), "there is no hook");

    let hook = stage.repo.path(".git/hooks/pre-push");
    write_program(&hook, "echo \"$@\" >told\ncat >>told\ntest ! -e no || exit 3");
    assert_eq!(ask("there"), Ok(()));
    let (first, none) = (&stage.first, "0".repeat(40));
    let told = || fs::read_to_string(workspace.directory().join("told")).unwrap();
    assert_eq!(told(), format!("there {remote}\n{first} {first} {name} {none}\n"));
    block_on(stage.project.git().push_commit(&remote, first, name)).unwrap();
    assert_eq!(ask(&remote), Ok(()));
    assert_eq!(told(), format!("{remote} {remote}\n{first} {first} {name} {first}\n"));

    put(&workspace, "no", "");
    let refused = ask("there").unwrap_err();
    assert_eq!(
        (refused.code(), refused.source.as_str()),
        (Code::ValidationPrePush, "hook:pre-push")
    );
    // B15: another attempt of an agent changes nothing about its surroundings.
    write_program(&hook, "echo 'curl: (6) Could not resolve host: proof.example' >&2; exit 1");
    let refused = ask("there").unwrap_err();
    assert_eq!(refused.code(), Code::PreconditionMissing);
    let cause = refused.cause.unwrap();
    assert!(cause.contains("pre-push hook") && cause.contains("Could not resolve host"), "{cause}");
    let nowhere = stage.repo.beside("nowhere").display().to_string();
    assert_eq!(ask(&nowhere).unwrap_err().code(), Code::GitPushFailed);
}
