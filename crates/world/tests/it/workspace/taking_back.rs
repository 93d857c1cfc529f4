//! What is outside the fence is taken back, exactly that, and kept.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use unstuck_core::engine::{RunId, Start};
use unstuck_core::fault::Code;
use unstuck_testkit::stage::run_git;
use unstuck_world::scope::{PathScope, ScopeRules};
use unstuck_world::workspace::{RemovalOutcome, WorktreeKeepReason};

use crate::support::block_on;
use crate::support::task_worktree::{NOW, Stage, changed, paths, put, text};

// B5, T4.12, T4.13: whatever way it was changed, it is as the base has it, and the rest is not touched.
#[test]
fn exactly_the_part_outside_is_taken_back_and_its_patch_applies() {
    let (_stage, workspace) = Stage::with_worktree(&[
        ("src/a", "1\n"),
        ("keys/edited", "1\n"),
        ("keys/deleted", "1\n"),
        ("keys/renamed", "1\n2\n3\n4\n"),
        ("keys/tool", "1\n"),
        ("keys/folder/file", "1\n"),
    ]);
    let dir = workspace.directory();
    put(&workspace, "src/a", "2\n");
    put(&workspace, "src/new", "2\n");
    put(&workspace, "keys/edited", "2\n");
    put(&workspace, "keys/new/deep", "2\n");
    fs::remove_file(dir.join("keys/deleted")).unwrap();
    fs::rename(dir.join("keys/renamed"), dir.join("src/renamed")).unwrap();
    fs::set_permissions(dir.join("keys/tool"), Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(dir.join("keys/folder")).unwrap();
    symlink("/etc", dir.join("keys/folder")).unwrap();
    run_git(dir, ["add", "-A"]);
    run_git(dir, ["commit", "-q", "-m", "the agent's own"]);

    let rules = ScopeRules { allowed: vec!["src".to_owned()], ..ScopeRules::default() };
    let scope = PathScope::new(&rules).unwrap();
    let changes = block_on(workspace.list_changes()).unwrap();
    let verdict = scope.judge_paths(changes.iter().map(|change| change.path.as_path()));
    assert_eq!(verdict.outside.len(), 7, "{verdict:?}");
    let taken = block_on(workspace.revert_paths(&verdict.out_of_scope(), RunId(1), NOW)).unwrap();
    let fault = verdict.to_fault(Some(&taken.patch)).unwrap();
    assert_eq!(fault.code(), Code::ScopeOutsideAllowed);

    assert_eq!(changed(&workspace), paths(&["src/a", "src/new", "src/renamed"]));
    assert_eq!(text(&workspace, "src/a"), "2\n");
    assert_eq!(text(&workspace, "keys/edited"), "1\n");
    assert_eq!(text(&workspace, "keys/folder/file"), "1\n");
    assert!(!dir.join("keys/new").exists());
    let mode = fs::metadata(dir.join("keys/tool")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0);

    let patch = taken.patch.display().to_string();
    run_git(dir, ["apply", &patch]);
    assert_eq!(text(&workspace, "keys/edited"), "2\n");
    assert_eq!(text(&workspace, "keys/new/deep"), "2\n");
    assert!(dir.join("keys/folder").is_symlink());
    assert!(!dir.join("keys/deleted").exists());
}

// T4.12: half of a rename would be a deletion.
#[test]
fn a_file_that_was_moved_outside_goes_back_to_where_it_was() {
    let (_stage, workspace) =
        Stage::with_worktree(&[("src/a", "1\n2\n3\n4\n"), ("src/b", "5\n"), ("src/c", "6\n")]);
    let dir = workspace.directory();
    fs::rename(dir.join("src/a"), dir.join("a")).unwrap();
    put(&workspace, "a", "1\n2\n3\n4\nmore\n");
    fs::remove_file(dir.join("src/b")).unwrap();
    fs::rename(dir.join("src/c"), dir.join("src/d")).unwrap();
    block_on(workspace.revert_work(&paths(&["a"]), RunId(1), NOW)).unwrap();
    assert_eq!(changed(&workspace), paths(&["src/b", "src/c", "src/d"]));
    assert_eq!(text(&workspace, "src/a"), "1\n2\n3\n4\n");
}

// B43: what an agent does after its work was done does not throw it away.
#[test]
fn the_worktree_goes_back_to_what_it_held_at_an_earlier_time() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    put(&workspace, "a", "2\n");
    put(&workspace, "new", "2\n");
    fs::remove_file(workspace.directory().join("c")).unwrap();
    let then = block_on(workspace.capture_content()).unwrap();
    block_on(workspace.restore_content(&then, RunId(1), NOW)).unwrap();
    let patches = stage.repo.path(".unstuck/tasks/t1/patches");
    assert!(!patches.exists(), "nothing was undone, and nothing is kept");

    put(&workspace, "a", "broken\n");
    put(&workspace, "b", "broken\n");
    put(&workspace, "c", "broken\n");
    put(&workspace, "more/deep", "broken\n");
    fs::remove_file(workspace.directory().join("new")).unwrap();
    run_git(workspace.directory(), ["add", "-A"]);
    run_git(workspace.directory(), ["commit", "-q", "-m", "the agent's own"]);
    block_on(workspace.restore_content(&then, RunId(1), NOW)).unwrap();

    assert_eq!(changed(&workspace), paths(&["a", "c", "new"]));
    assert_eq!(text(&workspace, "a"), "2\n");
    assert_eq!(text(&workspace, "b"), "1\n");
    assert_eq!(text(&workspace, "new"), "2\n");
    assert!(!workspace.directory().join("more").exists());
    assert!(!workspace.directory().join("c").exists());
    let kept = fs::read_to_string(patches.join("r1-1.patch")).unwrap();
    assert!(kept.contains("+broken"), "{kept}");
}

#[test]
fn a_repository_inside_is_moved_aside_as_it_is() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "inner/work", "precious");
    run_git(workspace.directory(), ["init", "-q", "inner"]);
    block_on(workspace.revert_paths(&paths(&["inner"]), RunId(1), NOW)).unwrap();
    assert!(!workspace.directory().join("inner").exists());
    let kept = stage.repo.path(".unstuck/tasks/t1/kept/r1/inner/work");
    assert_eq!(fs::read_to_string(kept).unwrap(), "precious");
}

// T4.17: nothing goes on in a worktree that could not be put right, and it stays as it is.
#[test]
fn what_cannot_be_taken_back_sets_the_worktree_aside() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    put(&workspace, "a", "2");
    // The patch cannot be kept, so nothing may be taken back.
    stage.repo.write(".unstuck/tasks/t1/patches", "a file in the way");
    let fault = block_on(workspace.revert_paths(&paths(&["a"]), RunId(1), NOW)).unwrap_err();
    assert_eq!(fault.code(), Code::GitRevertFailed);
    assert_eq!(text(&workspace, "a"), "2");
    let refused = stage.try_prepare(&stage.preparation(Start::Resume, 2)).unwrap_err();
    assert_eq!(refused.code(), Code::GitRevertFailed);
    let removed = block_on(workspace.remove_worktree(RunId(1))).unwrap();
    assert!(
        matches!(removed, RemovalOutcome::Kept(WorktreeKeepReason::Quarantined(_))),
        "{removed:?}"
    );

    fs::remove_file(stage.repo.path(".unstuck/tasks/t1/patches")).unwrap();
    let workspace = stage.prepare(Start::NewWorktree, 3);
    assert_eq!(text(&workspace, "a"), "1");
    assert_eq!(workspace.quarantine_reason().unwrap(), None);
    let aside = stage.repo.path(".unstuck/aside/t1-1/a");
    assert_eq!(fs::read_to_string(aside).unwrap(), "2");
    assert_eq!(changed(&workspace), Vec::<std::path::PathBuf>::new());
}
