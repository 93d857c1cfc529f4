//! Finds dependencies that are not among the named tasks: in earlier builds, and in files beside the named
//! ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::plan::file::{DependencyState, ExternalTask, PlanSource, task_names};
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace;

use super::tasks::{FOLDERS, read_bounded, shown_path, task_files};
use crate::error::CliError;
use crate::project::LocalProject;

const NOT_DONE: &str = "which is not done";

/// Returns all known tasks beside these files.
pub(super) async fn find_elsewhere(
    project: &LocalProject,
    files: &[PathBuf],
) -> Result<Vec<ExternalTask>, CliError> {
    let mut known = load_build_tasks(project).await?;
    for (name, file) in find_neighbor_tasks(project, files) {
        known.entry(name).or_insert_with(|| not_done_standing(Some(&file)));
    }
    Ok(known.into_iter().map(|(name, standing)| ExternalTask { name, standing }).collect())
}

/// Returns the tasks of earlier builds. For a task with several builds, one whose work is on the branch is
/// enough; otherwise the latest counts.
async fn load_build_tasks(
    project: &LocalProject,
) -> Result<BTreeMap<String, DependencyState>, CliError> {
    let mut known = BTreeMap::new();
    let store = match project.open_store() {
        Err(CliError::NothingHere { .. }) => return Ok(known),
        store => store?,
    };
    let repository = workspace::ProjectRepository::open("git", project.root()).await?;
    for build in store.load_builds(project.name()).await? {
        let mut is_there = None;
        for task in store.load_build_tasks(project.name(), build.id).await? {
            if task.spec.session.is_some() || task.spec.job.is_some() {
                continue;
            }
            let is_done = task.moved.state == TaskState::Done;
            if is_done && is_there.is_none() {
                is_there = Some(is_landed(&repository, build.id).await?);
            }
            let found = task_standing(&build, &task, is_there == Some(true));
            let name = task.spec.name.clone();
            if found == DependencyState::There || !known.contains_key(&name) {
                known.insert(name, found);
            }
        }
    }
    Ok(known)
}

fn task_standing(build: &BuildRow, task: &TaskRow, is_there: bool) -> DependencyState {
    let id = build.id;
    match task.moved.state {
        TaskState::Done if is_there => DependencyState::There,
        TaskState::Done => DependencyState::NotThere {
            why: "which is done and not on your branch yet".to_owned(),
            way: format!("`unstuck land {id} --merge` brings it"),
        },
        _ if build.state.has_ended() => not_done_standing(task.spec.file.as_deref()),
        _ => DependencyState::NotThere {
            why: NOT_DONE.to_owned(),
            way: format!("`unstuck resume` goes on with it in {id}"),
        },
    }
}

fn not_done_standing(file: Option<&str>) -> DependencyState {
    let way = match file {
        Some(file) => format!("`unstuck run {file}` does it"),
        None => "run it first".to_owned(),
    };
    DependencyState::NotThere { why: NOT_DONE.to_owned(), way }
}

/// Returns whether the whole result of a build is on the operator's branch, however it came there. A build
/// without a branch was landed or given up by a person.
async fn is_landed(
    repository: &workspace::ProjectRepository,
    build: BuildId,
) -> Result<bool, CliError> {
    let Some(tip) = repository.find_build_tip(build).await? else { return Ok(true) };
    Ok(repository.git().contains_work_of(&repository.resolve_head().await?, &tip).await?)
}

/// Returns the tasks of other files in the same folders and in the usual ones, with their files. A file
/// that cannot be read is ignored.
fn find_neighbor_tasks(project: &LocalProject, files: &[PathBuf]) -> Vec<(String, String)> {
    let usual = FOLDERS.map(|folder| project.root().join(folder));
    let folders = files.iter().filter_map(|file| file.parent()).map(Path::to_owned);
    let folders: BTreeSet<PathBuf> = folders.chain(usual).collect();
    let others = folders.iter().filter_map(|folder| task_files(folder).ok()).flatten();
    let mut found = Vec::new();
    for path in others {
        let file = shown_path(project, &path);
        let bytes = read_bounded(&path).unwrap_or_default();
        let Ok(source) = PlanSource::from_bytes(&file, &bytes) else { continue };
        found.extend(task_names(&source).into_iter().map(|name| (name, file.clone())));
    }
    found
}
