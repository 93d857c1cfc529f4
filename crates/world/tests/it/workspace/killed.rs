//! Killed after any of its git commands, a step done again ends like one that was not disturbed. What
//! is on disk before a command is what is there after the one before it, so that is every point.

use std::fs;
use std::path::Path;
use std::process::Command;

use unstuck_core::engine::{RunId, Start};
use unstuck_core::fault::Fault;
use unstuck_testkit::stage::{run_git, write_program};
use unstuck_world::workspace::{
    IntegrationOutcome, ProjectRepository, Workspace, WorkspacePreparation,
};

use crate::support::block_on;
use crate::support::task_worktree::{NOW, PLACE, Stage, changed, paths, put, text};

/// A git that dies when it has done its n-th command.
fn dying_git(stage: &Stage, at: u32) -> String {
    let (count, path) = (stage.repo.beside("count"), stage.repo.beside("dying-git"));
    fs::write(&count, "0").unwrap();
    let script = format!(
        "n=$(cat '{0}')\necho $((n+1)) >'{0}'\nif [ \"$n\" -eq {at} ]; then git \"$@\"; kill -9 $$; fi\n\
         exec git \"$@\"",
        count.display()
    );
    write_program(&path, &script);
    path.display().to_string()
}

fn prepare(stage: &Stage, git: &str, wanted: &WorkspacePreparation) -> Result<Workspace, Fault> {
    let project = block_on(ProjectRepository::open(git, &stage.repo.root))?;
    block_on(Workspace::prepare(&project, wanted, &stage.shell()))
}

/// Half of the points at a time, so that no test takes long.
#[derive(Clone, Copy)]
enum Points {
    Even,
    Odd,
}

/// Tries points until one is past the end, each time from the same stage.
fn at_points(points: Points, stage: &Stage, ended_well: impl Fn(&Stage, &str)) {
    let (root, copy) = (&stage.repo.root, stage.repo.beside("copy"));
    copy_tree(root, &copy);
    for at in (points as u32..).step_by(2) {
        let git = dying_git(stage, at);
        ended_well(stage, &git);
        let reached = fs::read_to_string(stage.repo.beside("count")).unwrap();
        if reached.trim().parse::<u32>().unwrap() <= at {
            assert!(at > 5, "only {at} points");
            return;
        }
        fs::remove_dir_all(root).unwrap();
        copy_tree(&copy, root);
    }
}

fn copy_tree(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(done.success());
}

fn making_a_worktree(points: Points) {
    let ended_well = |stage: &Stage, git: &str| {
        let _ = prepare(stage, git, &stage.preparation(Start::Fresh, 1));
        let workspace = stage.prepare(Start::Fresh, 1);
        assert_eq!(text(&workspace, "a"), "1");
        let status = run_git(workspace.directory(), ["status", "--porcelain", "-b"]);
        assert_eq!(status, "## unstuck/b1.t1");
        assert_eq!(block_on(workspace.resolve_base()).unwrap(), stage.first);
    };
    at_points(points, &Stage::with(&[("a", "1")]), ended_well);
}

fn going_back_to_the_base(points: Points) {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1"), ("b", "1")]);
    put(&workspace, "a", "2");
    put(&workspace, "new", "2");
    fs::remove_file(workspace.directory().join("b")).unwrap();
    let ended_well = |stage: &Stage, git: &str| {
        let _ = prepare(stage, git, &stage.preparation(Start::FromBase, 2));
        let workspace = stage.prepare(Start::FromBase, 2);
        assert_eq!(changed(&workspace), paths(&[]));
        assert_eq!(run_git(workspace.directory(), ["status", "--porcelain"]), "");
        let saved = stage.repo.git(["diff", "--name-only", "main", "refs/unstuck/attempts/r1"]);
        assert_eq!(saved, "a\nb\nnew");
        assert_eq!(
            block_on(stage.project.git().resolve_commit("refs/unstuck/pending/t1")),
            Ok(None)
        );
    };
    at_points(points, &stage, ended_well);
}

fn bringing_a_change_onto_the_head(points: Points) {
    let stage = Stage::with(&[("a", "1\n"), ("b", "1\n")]);
    put(&stage.fresh(), "a", "2\n");
    stage.repo.write("b", "moved\n");
    let head = stage.repo.commit("another task");
    let integrate = |stage: &Stage, git: &str| {
        let project = block_on(ProjectRepository::open(git, &stage.repo.root))?;
        let workspace = block_on(Workspace::open(&project, PLACE, &[]))?;
        block_on(workspace.integrate_onto(&head, RunId(1), NOW))
    };
    let ended_well = |stage: &Stage, git: &str| {
        let _ = integrate(stage, git);
        let integrated = integrate(stage, "git").unwrap();
        let workspace = block_on(Workspace::open(&stage.project, PLACE, &[])).unwrap();
        assert!(matches!(integrated, IntegrationOutcome::Already | IntegrationOutcome::Onto));
        assert_eq!(changed(&workspace), paths(&["a"]));
        assert_eq!(
            (text(&workspace, "a"), text(&workspace, "b")),
            ("2\n".into(), "moved\n".into())
        );
        assert_eq!(block_on(workspace.resolve_base()).unwrap(), head);
    };
    at_points(points, &stage, ended_well);
}

// B12: the steps around an attempt survive a kill.
#[test]
fn making_a_worktree_even() {
    making_a_worktree(Points::Even);
}

// B12
#[test]
fn making_a_worktree_odd() {
    making_a_worktree(Points::Odd);
}

// B12
#[test]
fn going_back_to_the_base_even() {
    going_back_to_the_base(Points::Even);
}

// B12
#[test]
fn going_back_to_the_base_odd() {
    going_back_to_the_base(Points::Odd);
}

// B14: bringing a change onto a head that moved.
#[test]
fn bringing_a_change_onto_the_head_even() {
    bringing_a_change_onto_the_head(Points::Even);
}

// B14
#[test]
fn bringing_a_change_onto_the_head_odd() {
    bringing_a_change_onto_the_head(Points::Odd);
}
