//! Repositories that an agent made in the worktree.

use std::path::Path;

use unstuck_core::engine::{RunId, Start};
use unstuck_testkit::stage::run_git;
use unstuck_world::workspace::{ChangeKind, Workspace};

use crate::support::block_on;
use crate::support::task_worktree::{NOW, Stage, changed, paths, put};

/// Makes a repository with a commit of a file in it.
fn generate(workspace: &Workspace, folder: &str) {
    put(workspace, &format!("{folder}/file"), "1");
    let at = workspace.directory().join(folder);
    run_git(&at, ["init", "-q"]);
    run_git(&at, ["add", "-A"]);
    run_git(&at, ["commit", "-q", "-m", "generated"]);
}

// B5: also inside another one, and again in the same run
#[test]
fn its_files_become_files_of_the_work_and_its_history_is_kept() {
    let (_stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    generate(&workspace, "app");
    generate(&workspace, "app/lib");
    let before = block_on(workspace.list_changes()).unwrap();
    assert_eq!(
        before.iter().map(|change| change.kind).collect::<Vec<_>>(),
        [ChangeKind::Repository]
    );
    let dissolved = block_on(workspace.dissolve_repositories(RunId(1))).unwrap();
    let found: Vec<&Path> = dissolved.iter().map(|one| one.path.as_path()).collect();
    assert_eq!(found, [Path::new("app"), Path::new("app/lib")]);
    assert!(dissolved.iter().all(|one| one.kept.join("HEAD").is_file()));
    assert_eq!(changed(&workspace), paths(&["app/file", "app/lib/file"]));
    generate(&workspace, "other");
    run_git(&workspace.directory().join("app/lib"), ["init", "-q"]);
    let again = block_on(workspace.dissolve_repositories(RunId(1))).unwrap();
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|one| !dissolved.contains(one) && one.kept.is_dir()));
    assert_eq!(block_on(workspace.dissolve_repositories(RunId(1))).unwrap(), []);
}

// B5: an attempt that was killed is saved with them
#[test]
fn an_attempt_is_saved_with_their_files() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    generate(&workspace, "app");
    let saved = block_on(workspace.save_attempt(RunId(1), NOW)).unwrap().unwrap();
    assert_eq!(stage.repo.git(["show", &format!("{saved}:app/file")]), "1");
    let workspace = stage.prepare(Start::FromBase, 2);
    assert_eq!(changed(&workspace), paths(&[]));
}

#[test]
fn a_submodule_that_gitmodules_lists_stays_a_repository() {
    let (_stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    generate(&workspace, "lib");
    put(&workspace, ".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = ./lib\n");
    assert_eq!(block_on(workspace.dissolve_repositories(RunId(1))).unwrap(), []);
    assert_eq!(changed(&workspace), paths(&[".gitmodules", "lib"]));
}
