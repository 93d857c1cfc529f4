//! Work of unfinished tasks in the operator's own working tree: it is saved and removed from there.

use unstuck_core::engine::{BuildId, RunId, TaskState};
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;
use unstuck_world::workspace::{Place, Project, Workspace};

/// Saves and removes the work of tasks that ended without being done from the operator's own
/// working tree. Returns these tasks, with the runs whose attempts keep the work.
pub async fn take_left_out(
    project: &Project,
    (store, name): (&dyn Store, &str),
    build: BuildId,
    now: Time,
) -> Result<Vec<(TaskRow, RunId)>, Fault> {
    let tasks = match store.tasks(name, build).await {
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
        let place = Place { build, task: task.id };
        let saved = Workspace::take_left_out(project, place, run, now).await?;
        taken.extend(saved.map(|_| (task, run)));
    }
    Ok(taken)
}
