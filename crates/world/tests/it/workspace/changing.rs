//! A change of a task is found, however it was made.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use unstuck_core::fault::Code;
use unstuck_testkit::stage::run_git;
use unstuck_world::workspace::ChangeKind;

use crate::support::block_on;
use crate::support::task_worktree::{Stage, changed, paths, put};

// B5: a shell, a commit, a link, a rename and a deletion.
#[test]
fn every_way_of_changing_is_found() {
    let (_stage, workspace) = Stage::with_worktree(&[
        ("edited", "1"),
        ("committed", "1"),
        ("renamed", "a long enough text to be seen as the same"),
        ("deleted", "1"),
        ("linked/file", "1"),
        ("tool", "1"),
        ("hidden", "1"),
        ("skipped", "1"),
        ("dropped", "1"),
        ("same", "1"),
    ]);
    let dir = workspace.directory();
    assert_eq!(changed(&workspace), Vec::<PathBuf>::new());

    put(&workspace, "edited", "2");
    put(&workspace, "committed", "2");
    put(&workspace, "new-and-committed", "2");
    run_git(dir, ["add", "-A"]);
    run_git(dir, ["commit", "-q", "-m", "the agent's own"]);
    run_git(dir, ["mv", "renamed", "moved"]);
    run_git(dir, ["rm", "-q", "deleted"]);
    fs::remove_dir_all(dir.join("linked")).unwrap();
    symlink("/etc", dir.join("linked")).unwrap();
    fs::set_permissions(dir.join("tool"), Permissions::from_mode(0o755)).unwrap();
    run_git(dir, ["update-index", "--assume-unchanged", "hidden"]);
    put(&workspace, "hidden", "2");
    run_git(dir, ["update-index", "--skip-worktree", "skipped"]);
    put(&workspace, "skipped", "2");
    run_git(dir, ["rm", "-q", "--cached", "dropped"]);
    put(&workspace, "new", "2");
    run_git(dir, ["checkout", "-q", "--detach"]);

    let expected = [
        ("committed", ChangeKind::Modified),
        ("deleted", ChangeKind::Deleted),
        ("edited", ChangeKind::Modified),
        ("hidden", ChangeKind::Modified),
        ("linked", ChangeKind::Added),
        ("linked/file", ChangeKind::Deleted),
        ("moved", ChangeKind::Added),
        ("new", ChangeKind::Added),
        ("new-and-committed", ChangeKind::Added),
        ("renamed", ChangeKind::Deleted),
        ("skipped", ChangeKind::Modified),
        ("tool", ChangeKind::ModeChanged),
    ];
    let mut found = block_on(workspace.list_changes()).unwrap();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let found: Vec<_> = found.iter().map(|one| (one.path.to_str().unwrap(), one.kind)).collect();
    assert_eq!(found, expected);
}

#[test]
fn an_agent_that_breaks_its_own_git_hides_nothing() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    fs::remove_dir_all(workspace.directory().join(".git")).unwrap();
    assert_eq!(changed(&workspace), paths(&["a"]));
    run_git(workspace.directory(), ["init", "-q"]);
    run_git(workspace.directory(), ["add", "-A"]);
    assert_eq!(changed(&workspace), paths(&["a"]));
    // The next attempt finds its own repository again.
    let workspace = stage.prepare(unstuck_core::engine::Start::Resume, 2);
    assert_eq!(run_git(workspace.directory(), ["branch", "--show-current"]), "unstuck/b1.t1");
    assert_eq!(changed(&workspace), paths(&["a"]));
}

// T4.22
#[test]
fn when_git_cannot_say_what_changed_it_is_a_fault() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    stage.repo.write(".unstuck/tasks/t1/index", "no index");
    let fault = block_on(workspace.list_changes()).unwrap_err();
    assert_eq!(fault.code(), Code::GitStatusFailed);
}

#[test]
fn what_is_shared_or_ignored_is_no_change() {
    let stage = Stage::with(&[("a", "1"), (".gitignore", "out/\n*.tmp\n")]);
    stage.repo.write("out/cache", "1");
    stage.repo.write(".env", "KEY=1");
    let mut wanted = stage.preparation(unstuck_core::engine::Start::Fresh, 1);
    wanted.share = vec!["out".to_owned(), ".env".to_owned(), "not-there".to_owned()];
    let workspace = stage.try_prepare(&wanted).unwrap();
    assert!(workspace.directory().join("out").is_symlink());
    assert_eq!(crate::support::task_worktree::text(&workspace, ".env"), "KEY=1");
    put(&workspace, "x.tmp", "1");
    put(&workspace, ".env", "KEY=2");
    assert_eq!(changed(&workspace), Vec::<PathBuf>::new());
    assert_eq!(fs::read_to_string(stage.repo.path(".env")).unwrap(), "KEY=1");
    for outside in ["../elsewhere", "/etc", ".git", ""] {
        wanted.share = vec![outside.to_owned()];
        assert_eq!(stage.try_prepare(&wanted).unwrap_err().code(), Code::ConfigInvalid);
    }
}
