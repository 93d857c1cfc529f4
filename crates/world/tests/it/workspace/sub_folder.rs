//! A project in a folder of its repository.

use std::fs;

use unstuck_core::engine::{RunId, Start};
use unstuck_testkit::stage::{TestRepo, write_file};
use unstuck_world::workspace::{ProjectRepository, RemovalOutcome};

use crate::support::block_on;
use crate::support::task_worktree::{PLACE, Stage, changed, paths, put, text};

fn project_in(folder: &str, files: &[(&str, &str)]) -> Stage {
    let repo = TestRepo::with(files);
    fs::create_dir_all(repo.path(folder)).unwrap();
    let project = block_on(ProjectRepository::open("git", &repo.path(folder))).unwrap();
    let first = repo.oid("HEAD");
    block_on(project.ensure_build_head(PLACE.build, &first)).unwrap();
    Stage { repo, project, first }
}

// B15: setup, shared paths and variables mean the folder of the project in the worktree
#[test]
fn commands_start_in_the_folder_of_the_project() {
    let stage = project_in("apps/web", &[("a", "1"), ("apps/web/b", "1"), ("apps/api/c", "1")]);
    write_file(&stage.repo.path("apps/web/.env"), "KEY=1");
    write_file(&stage.repo.path(".git/info/exclude"), ".env\n");
    let mut wanted = stage.preparation(Start::Fresh, 1);
    wanted.setup = vec!["pwd > place; cat .env b ../../a >> place".to_owned()];
    wanted.share = vec![".env".to_owned()];
    let workspace = stage.try_prepare(&wanted).unwrap();
    let folder = workspace.directory().join("apps/web");
    assert_eq!(workspace.project_folder(), folder);
    assert!(workspace.directory().starts_with(stage.repo.path("apps/web/.unstuck")));
    let said = text(&workspace, "apps/web/place");
    assert_eq!(said, format!("{}\nKEY=111", folder.display()));
    assert_eq!(changed(&workspace), paths(&[]));
    put(&workspace, "apps/web/b", "2");
    put(&workspace, "apps/api/c", "2");
    assert_eq!(changed(&workspace), paths(&["apps/api/c", "apps/web/b"]));
    let variable = ("NODE_PATH".into(), stage.repo.path("apps/lib").into_os_string());
    let pointed = stage.project.redirect_environment(PLACE, &[variable]);
    assert!(pointed.iter().any(|(_, value)| *value == *workspace.directory().join("apps/lib")));
}

#[test]
fn a_folder_that_git_does_not_track_is_made() {
    let stage = project_in("new", &[("a", "1")]);
    let workspace = stage.fresh();
    assert!(workspace.project_folder().is_dir());
    assert_eq!(changed(&workspace), paths(&[]));
    assert_eq!(block_on(workspace.remove_worktree(RunId(1))).unwrap(), RemovalOutcome::Gone);
}

#[test]
fn the_operators_tree_is_the_whole_repository() {
    let stage = project_in("web", &[("a", "1"), ("web/b", "1")]);
    block_on(stage.project.require_clean()).unwrap();
    let mut wanted = stage.preparation(Start::Fresh, 1);
    wanted.in_place = true;
    let workspace = stage.try_prepare(&wanted).unwrap();
    assert_eq!(workspace.directory(), stage.repo.root);
    assert_eq!(workspace.project_folder(), stage.repo.path("web"));
    put(&workspace, "a", "2");
    assert_eq!(changed(&workspace), paths(&["a"]));
}
