//! Killed at any of its git commands, before or after it, a step done again ends like one that was
//! not disturbed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use unstuck_core::engine::{RunId, Start};
use unstuck_core::fault::Fault;
use unstuck_world::workspace::{Integrated, Preparation, Project, Workspace};

use super::repo::{block_on, run_in};
use super::stage::{NOW, PLACE, Stage, changed, paths, put, text};

/// A git that dies at its n-th command.
fn dying_git(stage: &Stage, at: u32, after: bool) -> String {
    let (count, path) = (stage.repo.beside("count"), stage.repo.beside("dying-git"));
    fs::write(&count, "0").unwrap();
    let act = if after { "git \"$@\"; kill -9 $$" } else { "kill -9 $$" };
    let script = format!(
        "#!/bin/sh\nn=$(cat '{0}')\necho $((n+1)) >'{0}'\nif [ \"$n\" -eq {at} ]; then {act}; fi\n\
         exec git \"$@\"\n",
        count.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn prepare(stage: &Stage, git: &str, wanted: &Preparation) -> Result<Workspace, Fault> {
    let project = block_on(Project::open(git, &stage.repo.root))?;
    block_on(Workspace::prepare(&project, wanted, &stage.shell()))
}

/// Tries every point until one is past the end.
fn at_every_point(after: bool, ended_well: impl Fn(&Stage, &str), stage: impl Fn() -> Stage) {
    for at in 0.. {
        let stage = stage();
        let git = dying_git(&stage, at, after);
        ended_well(&stage, &git);
        let reached: u32 =
            fs::read_to_string(stage.repo.beside("count")).unwrap().trim().parse().unwrap();
        if reached <= at {
            assert!(at > 5, "only {at} points");
            return;
        }
    }
}

fn making_a_worktree(after: bool) {
    let ended_well = |stage: &Stage, git: &str| {
        let _ = prepare(stage, git, &stage.preparation(Start::Fresh, 1));
        let workspace = stage.prepare(Start::Fresh, 1);
        assert_eq!(text(&workspace, "a"), "1");
        let status = run_in(workspace.directory(), ["status", "--porcelain", "-b"]);
        assert_eq!(status, "## unstuck/b1.t1");
        assert_eq!(block_on(workspace.base()).unwrap(), stage.first);
    };
    at_every_point(after, ended_well, || Stage::with(&[("a", "1")]));
}

fn going_back_to_the_base(after: bool) {
    let changed_tree = || {
        let stage = Stage::with(&[("a", "1"), ("b", "1")]);
        let workspace = stage.fresh();
        put(&workspace, "a", "2");
        put(&workspace, "new", "2");
        fs::remove_file(workspace.directory().join("b")).unwrap();
        stage
    };
    let ended_well = |stage: &Stage, git: &str| {
        let _ = prepare(stage, git, &stage.preparation(Start::FromBase, 2));
        let workspace = stage.prepare(Start::FromBase, 2);
        assert_eq!(changed(&workspace), paths(&[]));
        assert_eq!(run_in(workspace.directory(), ["status", "--porcelain"]), "");
        let saved = stage.repo.run(["diff", "--name-only", "main", "refs/unstuck/attempts/r1"]);
        assert_eq!(saved, "a\nb\nnew");
        assert_eq!(block_on(stage.project.git().commit_of("refs/unstuck/pending/t1")), Ok(None));
    };
    at_every_point(after, ended_well, changed_tree);
}

fn bringing_a_change_onto_the_head(after: bool) {
    let moved_head = || {
        let stage = Stage::with(&[("a", "1\n"), ("b", "1\n")]);
        put(&stage.fresh(), "a", "2\n");
        stage.repo.write("b", "moved\n");
        stage.repo.commit("another task");
        stage
    };
    let integrate = |stage: &Stage, git: &str| {
        let project = block_on(Project::open(git, &stage.repo.root))?;
        let workspace = Workspace::open(&project, PLACE, &[])?;
        block_on(workspace.integrate(&stage.repo.oid("main"), RunId(1), NOW))
    };
    let ended_well = |stage: &Stage, git: &str| {
        let _ = integrate(stage, git);
        let workspace = stage.prepare(Start::Resume, 1);
        let integrated = integrate(stage, "git").unwrap();
        assert!(matches!(integrated, Integrated::Already | Integrated::Onto));
        assert_eq!(changed(&workspace), paths(&["a"]));
        assert_eq!(
            (text(&workspace, "a"), text(&workspace, "b")),
            ("2\n".into(), "moved\n".into())
        );
        assert_eq!(block_on(workspace.base()).unwrap(), stage.repo.oid("main"));
    };
    at_every_point(after, ended_well, moved_head);
}

// B12: the steps around an attempt survive a kill.
#[test]
fn making_a_worktree_killed_before_a_command() {
    making_a_worktree(false);
}

// B12
#[test]
fn making_a_worktree_killed_after_a_command() {
    making_a_worktree(true);
}

// B12
#[test]
fn going_back_to_the_base_killed_before_a_command() {
    going_back_to_the_base(false);
}

// B12
#[test]
fn going_back_to_the_base_killed_after_a_command() {
    going_back_to_the_base(true);
}

// B14: bringing a change onto a head that moved.
#[test]
fn bringing_a_change_onto_the_head_killed_before_a_command() {
    bringing_a_change_onto_the_head(false);
}

// B14
#[test]
fn bringing_a_change_onto_the_head_killed_after_a_command() {
    bringing_a_change_onto_the_head(true);
}
