//! Finds dependencies that are not among the named tasks: in earlier builds, and in files beside the named
//! ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::plan::file::{Elsewhere, Source, Standing, names};
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace;

use super::tasks::{FOLDERS, bytes, shown, task_files};
use crate::error::Error;
use crate::project::Project;

const NOT_DONE: &str = "which is not done";

/// Returns all known tasks beside these files.
pub(super) async fn elsewhere(
    project: &Project,
    files: &[PathBuf],
) -> Result<Vec<Elsewhere>, Error> {
    let mut known = of_builds(project).await?;
    for (name, file) in beside(project, files) {
        known.entry(name).or_insert_with(|| not_done(Some(&file)));
    }
    Ok(known.into_iter().map(|(name, standing)| Elsewhere { name, standing }).collect())
}

/// Returns the tasks of earlier builds. For a task with several builds, one whose work is on the branch is
/// enough; otherwise the latest counts.
async fn of_builds(project: &Project) -> Result<BTreeMap<String, Standing>, Error> {
    let mut known = BTreeMap::new();
    let store = match project.store() {
        Err(Error::NothingHere { .. }) => return Ok(known),
        store => store?,
    };
    let repository = workspace::Project::open("git", project.root()).await?;
    for build in store.builds(project.name()).await? {
        let mut is_there = None;
        for task in store.tasks(project.name(), build.id).await? {
            if task.spec.session.is_some() || task.spec.job.is_some() {
                continue;
            }
            let is_done = task.moved.state == TaskState::Done;
            if is_done && is_there.is_none() {
                is_there = Some(is_on_the_branch(&repository, build.id).await?);
            }
            let found = standing(&build, &task, is_there == Some(true));
            let name = task.spec.name.clone();
            if found == Standing::There || !known.contains_key(&name) {
                known.insert(name, found);
            }
        }
    }
    Ok(known)
}

fn standing(build: &BuildRow, task: &TaskRow, is_there: bool) -> Standing {
    let id = build.id;
    match task.moved.state {
        TaskState::Done if is_there => Standing::There,
        TaskState::Done => Standing::NotThere {
            why: "which is done and not on your branch yet".to_owned(),
            way: format!("`unstuck land {id} --merge` brings it"),
        },
        _ if build.state.has_ended() => not_done(task.spec.file.as_deref()),
        _ => Standing::NotThere {
            why: NOT_DONE.to_owned(),
            way: format!("`unstuck resume` goes on with it in {id}"),
        },
    }
}

fn not_done(file: Option<&str>) -> Standing {
    let way = match file {
        Some(file) => format!("`unstuck run {file}` does it"),
        None => "run it first".to_owned(),
    };
    Standing::NotThere { why: NOT_DONE.to_owned(), way }
}

/// Returns whether the whole result of a build is on the operator's branch, however it came there. A build
/// without a branch was landed or given up by a person.
async fn is_on_the_branch(repository: &workspace::Project, build: BuildId) -> Result<bool, Error> {
    let Some(tip) = repository.build_tip(build).await? else { return Ok(true) };
    Ok(repository.git().has_all_of(&repository.head().await?, &tip).await?)
}

/// Returns the tasks of other files in the same folders and in the usual ones, with their files. A file
/// that cannot be read is ignored.
fn beside(project: &Project, files: &[PathBuf]) -> Vec<(String, String)> {
    let usual = FOLDERS.map(|folder| project.root().join(folder));
    let folders = files.iter().filter_map(|file| file.parent()).map(Path::to_owned);
    let folders: BTreeSet<PathBuf> = folders.chain(usual).collect();
    let others = folders.iter().filter_map(|folder| task_files(folder).ok()).flatten();
    let mut found = Vec::new();
    for path in others {
        let file = shown(project, &path);
        let bytes = bytes(&path).unwrap_or_default();
        let Ok(source) = Source::from_bytes(&file, &bytes) else { continue };
        found.extend(names(&source).into_iter().map(|name| (name, file.clone())));
    }
    found
}
