//! What is different about a run that works in the person's own tree.

use unstuck_core::engine::TaskState;
use unstuck_runner::build::take_left_out;
use unstuck_store::Store;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace;

use super::tick;
use crate::error::Error;
use crate::project::{Project, now};
use crate::render::words;

/// Builds with their tasks.
type Rows = [(BuildRow, Vec<TaskRow>)];

/// Whether the work happens there. A plan that is ticked before the end would be a change of its own.
pub(super) fn is_in_place(project: &Project) -> bool {
    project.settings().is_ok_and(|resolved| resolved.settings.run.in_place)
}

/// The person's branch that the work is on.
pub(super) async fn own_branch(project: &Project) -> Option<String> {
    if !is_in_place(project) {
        return None;
    }
    let repository = workspace::Project::open("git", project.root()).await.ok()?;
    let branch = repository.git().branch().await.ok()??;
    Some(branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_owned())
}

/// Takes away what was left out, and says so in lines; then ticks what is done of builds that are over.
pub(super) async fn tidy(
    project: &Project,
    store: &dyn Store,
    rows: &Rows,
) -> Result<Vec<String>, Error> {
    let repository = workspace::Project::open("git", project.root()).await?;
    let mut said = Vec::new();
    for (build, tasks) in rows {
        let kept = (store, &**project.name());
        for (task, run) in take_left_out(&repository, kept, build.id, now()).await? {
            said.push(format!(
                "unstuck: what was done for “{}” is taken out of your files again; `git show {}` shows it.",
                words::name(task.id, &task.spec),
                run.saved_ref()
            ));
        }
        let done = tasks.iter().filter(|task| task.moved.state == TaskState::Done);
        for task in done.filter(|_| build.state.has_ended()) {
            tick::off(project, &task.spec, tick::mark(task.moved.unchanged.as_ref()));
        }
    }
    Ok(said)
}
