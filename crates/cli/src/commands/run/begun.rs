//! Leaves out tasks of files on which another run is at work, so that they are not done twice.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::engine::BuildId;
use unstuck_core::plan::TaskSpec;
use unstuck_runner::TaskLocks;

use crate::error::{CliError, TasksError};
use crate::project::LocalProject;

/// Removes the tasks on which another run is at work, and those that depend on them; returns the rest with
/// a message.
pub(super) async fn leave_out_begun(
    project: &LocalProject,
    mut tasks: Vec<TaskSpec>,
) -> Result<(Vec<TaskSpec>, Option<String>), CliError> {
    let begun = load_begun_tasks(project).await?;
    let by = |task: &TaskSpec| begun.get(&(task.file.clone()?, task.name.clone())).copied();
    let Some(build) = tasks.iter().find_map(by) else { return Ok((tasks, None)) };
    let mut left_out: BTreeSet<String> =
        tasks.iter().filter(|task| by(task).is_some()).map(|task| task.name.clone()).collect();
    let at_work = left_out.len();
    loop {
        let needs = |task: &&TaskSpec| task.depends_on.iter().any(|need| left_out.contains(need));
        let more = tasks.iter().filter(needs).map(|task| task.name.clone());
        let more: Vec<String> = more.filter(|name| !left_out.contains(name)).collect();
        if more.is_empty() {
            break;
        }
        left_out.extend(more);
    }
    tasks.retain(|task| !left_out.contains(&task.name));
    if tasks.is_empty() {
        return Err(TasksError::Begun { build }.into());
    }
    let needing = match left_out.len() - at_work {
        0 => String::new(),
        1 => ", and so is one that needs it".to_owned(),
        many => format!(", and so are {many} that need it"),
    };
    let line = match at_work {
        1 => {
            format!("build {build} is at work on one of these tasks; it is left out here{needing}")
        }
        many => format!(
            "build {build} is at work on {many} of these tasks; they are left out here{needing}"
        ),
    };
    Ok((tasks, Some(line)))
}

/// Returns the tasks of files on which live processes are at work, with their builds.
async fn load_begun_tasks(
    project: &LocalProject,
) -> Result<BTreeMap<(String, String), BuildId>, CliError> {
    let mut begun = BTreeMap::new();
    let store = match project.open_store() {
        Err(CliError::NothingHere { .. }) => return Ok(begun),
        store => store?,
    };
    let turns = TaskLocks::new(project.runs_folder());
    for build in store.load_builds(project.name()).await? {
        if build.state.has_ended() || !turns.is_build_locked(build.id) {
            continue;
        }
        for task in store.load_build_tasks(project.name(), build.id).await? {
            if let Some(file) = task.spec.file.clone().filter(|_| !task.moved.state.has_ended()) {
                begun.insert((file, task.spec.name.clone()), build.id);
            }
        }
    }
    Ok(begun)
}
