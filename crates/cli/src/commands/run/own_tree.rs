//! Changes in the operator's own tree: ticks the done items of a plan, and treats a run that works in place.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::plan::TaskSpec;
use unstuck_core::plan::file::{ChecklistMark, tick_item};
use unstuck_runner::build::save_left_out_work;
use unstuck_store::Store;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace;

use crate::error::CliError;
use crate::project::{LocalProject, now, replace_file, replace_file_through};
use crate::render::{self, words};

type BuildTaskRows = [(BuildRow, Vec<TaskRow>)];

/// Returns whether the work happens in the operator's tree. There a plan is not ticked before the end,
/// because that would be a change of its own.
pub(super) fn is_in_place(project: &LocalProject) -> bool {
    project.settings().is_ok_and(|resolved| resolved.settings.run.in_place)
}

/// Returns the operator's branch that holds the work.
pub(super) async fn own_branch(project: &LocalProject) -> Option<String> {
    if !is_in_place(project) {
        return None;
    }
    let repository = workspace::ProjectRepository::open("git", project.root()).await.ok()?;
    let branch = repository.git().current_branch().await.ok()??;
    Some(branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_owned())
}

/// Reverts the changes of tasks that were left out and returns messages about them; then ticks the done
/// items of ended builds.
pub(super) async fn revert_left_out(
    project: &LocalProject,
    store: &dyn Store,
    rows: &BuildTaskRows,
) -> Result<Vec<String>, CliError> {
    let repository = workspace::ProjectRepository::open("git", project.root()).await?;
    let mut said = Vec::new();
    for (build, tasks) in rows {
        let kept = (store, &**project.name());
        for (task, run) in save_left_out_work(&repository, kept, build.id, now()).await? {
            said.push(format!(
                "unstuck: what was done for “{}” is taken out of your files again; `git show {}` shows it.",
                words::task_name(task.id, &task.spec),
                run.saved_ref()
            ));
        }
        let done = tasks.iter().filter(|task| task.moved.state == TaskState::Done);
        for task in done.filter(|_| build.state.has_ended()) {
            tick_off(project, &task.spec, done_mark(task.moved.unchanged.as_ref()));
        }
    }
    Ok(said)
}

/// The state of a build's process for the plan: while the file exists, done items may not be ticked yet,
/// because the process was killed.
pub(super) fn note_unticked(project: &LocalProject, builds: &[BuildId]) {
    for build in builds {
        // Without the file, a kill at the end of the build leaves an item unticked.
        let _ = fs::write(unticked_file(project, *build), b"");
    }
}

/// Notes that all done items of these builds are ticked.
pub(super) fn forget_unticked(project: &LocalProject, builds: &[BuildId]) {
    for build in builds {
        let _ = fs::remove_file(unticked_file(project, *build));
    }
}

fn unticked_file(project: &LocalProject, build: BuildId) -> PathBuf {
    project.unstuck_folder().join(format!("unticked-{build}"))
}

/// Ticks the done items of ended builds whose process was killed before it could.
pub(super) async fn tick_after_kill(project: &LocalProject) -> Result<(), CliError> {
    let listed = fs::read_dir(project.unstuck_folder()).into_iter().flatten().flatten();
    let is_mark = |name: OsString| name.to_string_lossy().starts_with("unticked-");
    if !listed.map(|entry| entry.file_name()).any(is_mark) || is_in_place(project) {
        return Ok(());
    }
    let store = project.open_store()?;
    for build in store.load_builds(project.name()).await? {
        if !build.state.has_ended() || !unticked_file(project, build.id).exists() {
            continue;
        }
        let tasks = store.load_build_tasks(project.name(), build.id).await?;
        for task in tasks.iter().filter(|task| task.moved.state == TaskState::Done) {
            tick_off(project, &task.spec, done_mark(task.moved.unchanged.as_ref()));
        }
        forget_unticked(project, &[build.id]);
    }
    Ok(())
}

/// Marks the item of this task, if it was an item and is still open. A plan that cannot be written does not
/// stop the run.
pub(super) fn tick_off(project: &LocalProject, spec: &TaskSpec, mark: ChecklistMark) {
    let Some(file) = &spec.file else { return };
    let path = project.root().join(file);
    let Ok(text) = fs::read_to_string(&path) else { return };
    let Some(ticked) = tick_item(&text, &spec.name, mark) else { return };
    // A kill leaves no draft beside the plan.
    let replaced = replace_file_through(&project.unstuck_folder(), &path, &ticked)
        .or_else(|_| replace_file(&path, &ticked));
    if let Err(error) = replaced {
        render::write_note(&format!("unstuck: {file} could not be ticked: {error}"));
    }
}

/// Returns the mark for the box of a done task.
pub(super) const fn done_mark(unchanged: Option<&Arc<str>>) -> ChecklistMark {
    if unchanged.is_some() { ChecklistMark::NotNeeded } else { ChecklistMark::Done }
}
