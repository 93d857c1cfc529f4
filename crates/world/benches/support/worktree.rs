//! A repository of a benchmark, and the worktree of a task in it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use unstuck_core::engine::{BuildId, RunId, Start, TaskId};
use unstuck_core::time::Time;
use unstuck_world::process::{GuardCommand, Wall};
use unstuck_world::workspace::{
    ProjectRepository, Shell, Workspace, WorkspaceKey, WorkspacePreparation,
};

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Prepares the worktree of a task at the head of its project.
pub(crate) async fn prepare(project: &ProjectRepository, task: usize) -> Workspace {
    let wanted = WorkspacePreparation {
        place: WorkspaceKey { build: BuildId(1), task: TaskId(u32::try_from(task).unwrap()) },
        run: RunId(1),
        start: Start::Fresh,
        head: project.resolve_head().await.unwrap(),
        share: Vec::new(),
        setup: Vec::new(),
        in_place: false,
        now: Time::from_millis(0),
    };
    // Without setup commands nothing is run under it.
    let shell = Shell {
        guard: GuardCommand { executable: "unused".into(), arguments: Vec::new() },
        lock: project.root().with_file_name("lock"),
        inherits_environment: true,
        environment: Vec::new(),
        timeout: Duration::from_mins(1),
        wall: Wall::default(),
    };
    Workspace::prepare(project, &wanted, &shell).await.unwrap()
}

/// Runs git to its end.
pub(crate) fn git(directory: &Path, args: &[&str]) {
    let done = Command::new("git").current_dir(directory).args(args).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
