//! What a new attempt finds.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use unstuck_core::engine::{RunId, Start};
use unstuck_core::fault::Code;
use unstuck_testkit::stage::run_git;

use crate::support::block_on;
use crate::support::task_worktree::{NOW, Stage, changed, paths, put, text};

#[test]
fn a_fresh_worktree_leaves_the_persons_tree_alone() {
    let stage = Stage::with(&[("a", "1")]);
    stage.repo.write("a", "the person's own work");
    stage.repo.git(["add", "a"]);
    let before = stage.repo.git(["status", "--porcelain=v2", "--branch"]);
    let config = fs::read(stage.repo.path(".git/config")).unwrap();
    let workspace = stage.fresh();
    assert_eq!(text(&workspace, "a"), "1");
    assert_eq!(run_git(workspace.directory(), ["branch", "--show-current"]), "unstuck/b1.t1");
    assert_eq!(run_git(workspace.directory(), ["status", "--porcelain"]), "");
    put(&workspace, "a", "2");
    block_on(workspace.save_attempt(RunId(1), NOW)).unwrap();
    stage.prepare(Start::FromBase, 2);
    assert_eq!(stage.repo.git(["status", "--porcelain=v2", "--branch"]), before);
    assert_eq!(fs::read(stage.repo.path(".git/config")).unwrap(), config);
}

#[test]
fn what_is_kept_about_a_project_is_for_its_user_alone() {
    let stage = Stage::with(&[("a", "1")]);
    let kept = fs::metadata(stage.repo.path(".unstuck")).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o700);
}

// B12: after a wait the same worktree; after a replan the attempt is saved and its patch applies.
#[test]
fn each_start_finds_what_it_says() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1\n"), ("gone", "1\n")]);
    put(&workspace, "a", "2\n");
    put(&workspace, "new", "2\n");
    fs::remove_file(workspace.directory().join("gone")).unwrap();
    let all = paths(&["a", "gone", "new"]);

    for start in [Start::Resume, Start::Compacted] {
        assert_eq!(changed(&stage.prepare(start, 1)), all);
        assert_eq!(
            block_on(workspace.save_attempt(RunId(99), NOW)).map(|saved| saved.is_some()),
            Ok(true)
        );
    }
    let workspace = stage.prepare(Start::KeepTree, 2);
    assert_eq!(changed(&workspace), all);
    let saved = stage.repo.oid("refs/unstuck/attempts/r1");

    let workspace = stage.prepare(Start::FromBase, 3);
    assert_eq!(changed(&workspace), paths(&[]));
    assert_eq!(text(&workspace, "gone"), "1\n");
    assert_eq!(run_git(workspace.directory(), ["status", "--porcelain"]), "");
    let again = stage.repo.oid("refs/unstuck/attempts/r2");
    assert_eq!(
        stage.repo.oid(&format!("{again}^{{tree}}")),
        stage.repo.oid(&format!("{saved}^{{tree}}"))
    );

    let patch = block_on(stage.project.git().create_patch(&stage.first, &saved)).unwrap();
    let file = stage.repo.beside("saved.patch");
    fs::write(&file, patch).unwrap();
    run_git(workspace.directory(), ["apply", &file.display().to_string()]);
    assert_eq!(changed(&workspace), all);

    let workspace = stage.prepare(Start::NewWorktree, 4);
    assert_eq!(changed(&workspace), paths(&[]));
    assert_eq!(
        stage.repo.oid("refs/unstuck/attempts/r3^{tree}"),
        stage.repo.oid(&format!("{saved}^{{tree}}"))
    );
}

#[test]
fn commits_of_the_agent_stay_within_reach() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    run_git(workspace.directory(), ["commit", "-q", "-am", "halfway"]);
    let own = run_git(workspace.directory(), ["rev-parse", "HEAD"]);
    stage.prepare(Start::FromBase, 2);
    assert_eq!(stage.repo.oid("refs/unstuck/attempts/r1^2").as_str(), own);
    assert_eq!(stage.repo.oid("unstuck/b1.t1"), stage.first);
}

#[test]
fn setup_runs_once_per_worktree_and_its_failure_is_a_fault() {
    let stage = Stage::with(&[("a", "1"), (".gitignore", "log\n")]);
    let mut wanted = stage.preparation(Start::Fresh, 1);
    wanted.setup = vec!["echo one >>log".to_owned(), "echo two >>log".to_owned()];
    let workspace = stage.try_prepare(&wanted).unwrap();
    wanted.start = Start::Resume;
    stage.try_prepare(&wanted).unwrap();
    assert_eq!(text(&workspace, "log"), "one\ntwo\n");
    wanted.setup = vec!["exit 3".to_owned()];
    let fault = stage.try_prepare(&wanted).unwrap_err();
    assert_eq!((fault.code(), fault.source.as_str()), (Code::LogicError, "setup#1"));
}
