//! Work of unfinished tasks in the operator's own working tree: it is saved and removed from there.

use unstuck_core::engine::{BuildId, RunId, TaskState};
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;
use unstuck_world::workspace::{ProjectRepository, Workspace, WorkspaceKey};

/// Saves and removes the work of tasks that ended without being done from the operator's own
/// working tree. Returns these tasks, with the runs whose attempts keep the work.
pub async fn save_left_out_work(
    project: &ProjectRepository,
    (store, name): (&dyn Store, &str),
    build: BuildId,
    now: Time,
) -> Result<Vec<(TaskRow, RunId)>, Fault> {
    let tasks = match store.load_build_tasks(name, build).await {
        Ok(tasks) => tasks,
        Err(error) => {
            tracing::warn!(%error, "what was left out cannot be known");
            return Ok(Vec::new());
        }
    };
    let mut taken = Vec::new();
    for task in tasks {
        let is_left_out = task.moved.state.has_ended() && task.moved.state != TaskState::Done;
        let Some(run) = task.moved.last_run.filter(|_| is_left_out) else { continue };
        let place = WorkspaceKey { build, task: task.id };
        let saved = Workspace::withdraw_skipped_work(project, place, run, now).await?;
        taken.extend(saved.map(|_| (task, run)));
    }
    Ok(taken)
}
