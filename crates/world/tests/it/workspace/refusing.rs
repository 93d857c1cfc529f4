//! Repositories that cannot be worked on, and working in place.

use std::fs;

use unstuck_core::engine::{BuildId, RunId, Start};
use unstuck_core::fault::Code;
use unstuck_testkit::stage::TestRepo;
use unstuck_world::workspace::{
    CommitOutcome, ProjectRepository, RemovalOutcome, Workspace, WorktreeKeepReason,
};

use super::{commit, wording};
use crate::support::block_on;
use crate::support::task_worktree::{NOW, PLACE, Stage, changed, paths, put};

#[test]
fn what_cannot_be_worked_on_is_said() {
    let why = |root: &std::path::Path| {
        let fault = block_on(ProjectRepository::open("git", root)).unwrap_err();
        assert_eq!(fault.code(), Code::PreconditionMissing);
        fault.message
    };
    let folder = tempfile::tempdir().unwrap();
    assert!(why(folder.path()).contains("is not in a git repository"));
    assert!(why(&TestRepo::empty().root).contains("has no commit yet"));
    let repo = TestRepo::with(&[("a", "1")]);
    let url = format!("file://{}", repo.root.display());
    for (name, option, says) in [("bare", "--bare", "bare"), ("cut", "--depth=1", "shallow")] {
        let place = repo.beside(name);
        repo.git(["clone", "-q", option, &url, &place.display().to_string()]);
        assert!(why(&place).contains(says), "{name}");
    }
    // A head on no branch is as good as any.
    repo.git(["checkout", "-q", "--detach"]);
    let project = block_on(ProjectRepository::open("git", &repo.root)).unwrap();
    assert_eq!(block_on(project.resolve_head()).unwrap(), repo.oid("HEAD"));
}

#[test]
fn a_branch_that_leaves_no_room_for_ours_is_named() {
    let stage = Stage::with(&[("a", "1")]);
    block_on(stage.project.clear_build_names(BuildId(5))).unwrap();
    stage.repo.git(["branch", "unstuck-mine"]);
    block_on(stage.project.clear_build_names(BuildId(5))).unwrap();
    let repo = TestRepo::with(&[("a", "1")]);
    repo.git(["branch", "unstuck"]);
    let project = block_on(ProjectRepository::open("git", &repo.root)).unwrap();
    let fault = block_on(project.clear_build_names(BuildId(5))).unwrap_err();
    assert_eq!(fault.code(), Code::PreconditionMissing);
    assert!(fault.message.contains("git branch -m unstuck NAME"), "{}", fault.message);
}

#[test]
fn in_place_needs_a_clean_tree_and_works_in_it() {
    let stage = Stage::with(&[("a", "1")]);
    let mut wanted = stage.preparation(Start::Fresh, 1);
    wanted.in_place = true;
    stage.repo.write("mine", "1");
    assert_eq!(stage.try_prepare(&wanted).unwrap_err().code(), Code::PreconditionMissing);
    fs::remove_file(stage.repo.path("mine")).unwrap();

    let workspace = stage.try_prepare(&wanted).unwrap();
    assert_eq!(workspace.directory(), stage.repo.root);
    put(&workspace, "a", "2");
    put(&workspace, "outside", "2");
    // After a kill the change is still the task's.
    wanted.start = Start::Resume;
    let workspace = stage.try_prepare(&wanted).unwrap();
    assert_eq!(changed(&workspace), paths(&["a", "outside"]));
    block_on(workspace.revert_paths(&paths(&["outside"]), RunId(1), NOW)).unwrap();
    assert_eq!(changed(&workspace), paths(&["a"]));
    let open = || block_on(Workspace::open(&stage.project, PLACE, &[]));
    stage.repo.git(["checkout", "-q", "-b", "other"]);
    assert_eq!(open().unwrap_err().code(), Code::PreconditionMissing, "not on that branch");
    stage.repo.git(["checkout", "-q", "main"]);
    let workspace = open().unwrap();
    assert_eq!(changed(&workspace), paths(&["a"]));
    assert_eq!(block_on(workspace.find_commit_made()).unwrap(), stage.repo.oid("main"));
    let committed = block_on(commit(&workspace, &wording("done"), &stage)).unwrap();
    let CommitOutcome::As { commit, .. } = committed else { panic!() };
    assert_eq!(stage.repo.oid("main"), commit);
    assert_eq!(block_on(open().unwrap().find_commit_made()).unwrap(), commit);
    assert_eq!(stage.repo.git(["status", "--porcelain", "--branch"]), "## main");
    assert_eq!(
        block_on(workspace.remove_worktree(RunId(1))).unwrap(),
        RemovalOutcome::Kept(WorktreeKeepReason::InPlace)
    );
}

#[test]
fn locks_that_a_killed_git_left_in_the_worktree_are_cleared() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    for lock in [
        ".unstuck/worktrees/t1/.git/index.lock",
        ".unstuck/tasks/t1/git/index.lock",
        ".unstuck/tasks/t1/index.scratch.lock",
    ] {
        fs::write(stage.repo.path(lock), "").unwrap();
    }
    let workspace = stage.prepare(Start::FromBase, 2);
    assert_eq!(changed(&workspace), paths(&[]));
}
