//! Tasks that are elsewhere: dependencies in earlier builds and in files beside the named ones, and tasks on
//! which another run is at work, which are left out so that they are not done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::plan::TaskSpec;
use unstuck_core::plan::file::{
    DependencyState, ExternalTask, FILE_BYTES_MAX, PlanSource, task_names,
};
use unstuck_runner::TaskLocks;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace;

use crate::error::{CliError, TasksError};
use crate::project::LocalProject;

/// The folders of tasks if none are named.
pub(super) const FOLDERS: [&str; 2] = ["tasks", ".ai/tasks"];

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
            way: format!("`unstuck resume` continues it in {id}"),
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
        let Ok(bytes) = read_bounded(&path) else { continue };
        let Ok(source) = PlanSource::from_bytes(&file, &bytes) else { continue };
        found.extend(task_names(&source).into_iter().map(|name| (name, file.clone())));
    }
    found
}

/// Removes the tasks on which another run is at work, and those that depend on them; returns the rest with
/// a message.
pub(in crate::commands) async fn leave_out_begun(
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
            format!(
                "build {build} is already working on one of these tasks; it is skipped here{needing}"
            )
        }
        many => format!(
            "build {build} is already working on {many} of these tasks; they are skipped here{needing}"
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
    let locks = TaskLocks::new(project.runs_folder());
    for build in store.load_builds(project.name()).await? {
        if build.state.has_ended() || !locks.is_build_locked(build.id) {
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

/// Returns the task files of a folder, sorted by name.
pub(super) fn task_files(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unreadable = CliError::unusable(folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_task_file(&path) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(TasksError::EmptyFolder { folder: folder.to_owned() }.into());
    }
    Ok(files)
}

/// Returns whether a file is a task; hidden files and a README are not.
pub(super) fn is_task_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = name.starts_with(['.', '_']) || name.eq_ignore_ascii_case("readme.md");
    !hidden && path.is_file() && path.extension().is_some_and(|of| of.eq_ignore_ascii_case("md"))
}

/// Returns the path relative to the root of the project, as it is shown.
pub(super) fn shown_path(project: &LocalProject, path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.strip_prefix(project.root()).unwrap_or(&whole).display().to_string()
}

/// Reads at most one byte more than a task file may have, which is enough to detect that it is too long.
pub(super) fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = FILE_BYTES_MAX as u64 + 1;
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
