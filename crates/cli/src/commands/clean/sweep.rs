//! Finds and removes the leftovers of builds.

use serde::Serialize;
use unstuck_core::engine::RunId;
use unstuck_store::Store;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace::{self, Branch, Leftover, Place, Removed, Why, Workspace};

use super::size;
use crate::error::Error;
use crate::project::Project;
use crate::render::words;

/// The prefix of a branch's full name.
const HEADS: &str = "refs/heads/";

/// The leftovers that were found or removed.
#[derive(Debug, Default, Serialize)]
pub(super) struct Swept {
    /// Set if the leftovers were removed, not only listed.
    pub(super) removed: bool,
    pub(super) things: Vec<Thing>,
    /// Number of saved attempts, which stay.
    pub(super) attempts: usize,
    /// Bytes that are free now, or would be.
    pub(super) freed_bytes: u64,
}

/// A worktree or a branch.
#[derive(Debug, Serialize)]
pub(super) struct Thing {
    pub(super) what: String,
    pub(super) bytes: u64,
    /// The reason for keeping it; `None` if it is removed.
    pub(super) kept: Option<String>,
}

impl Swept {
    /// Returns how many leftovers are removed.
    pub(super) fn would_go(&self) -> usize {
        self.things.iter().filter(|thing| thing.kept.is_none()).count()
    }
}

pub(super) async fn sweep(
    project: &Project,
    store: &dyn Store,
    remove: bool,
) -> Result<Swept, Error> {
    let repository = workspace::Project::open("git", project.root()).await?;
    let name = project.name();
    let mut swept = Swept { removed: remove, ..Swept::default() };
    for build in store.builds(name).await?.iter().filter(|build| build.is_performed_here()) {
        let tasks = store.tasks(name, build.id).await?;
        let mut sweep =
            Sweep { repository: &repository, build, remove, stay: Vec::new(), swept: &mut swept };
        // Listed before the worktrees are removed, because some branches go with them.
        let branches = repository.branches_of(build.id).await?;
        sweep.worktrees(&tasks).await?;
        sweep.branches(&branches).await?;
        if remove && build.state.has_ended() {
            repository.forget_backup(build.id).await?;
        }
        for task in &tasks {
            let runs = store.runs(name, task.id).await?;
            let runs: Vec<RunId> = runs.iter().map(|run| run.id).collect();
            swept.attempts += repository.attempts_of(&runs).await?;
        }
    }
    let gone = swept.things.iter().filter(|thing| thing.kept.is_none());
    swept.freed_bytes = gone.map(|thing| thing.bytes).sum();
    Ok(swept)
}

/// The sweep of one build.
struct Sweep<'a> {
    repository: &'a workspace::Project,
    build: &'a BuildRow,
    remove: bool,
    /// Branches whose worktrees stay.
    stay: Vec<String>,
    swept: &'a mut Swept,
}

impl Sweep<'_> {
    fn is_open(&self) -> Option<String> {
        let open = !self.build.state.has_ended();
        open.then(|| format!("build {} is not over", self.build.id))
    }

    async fn worktrees(&mut self, tasks: &[TaskRow]) -> Result<(), Error> {
        for task in tasks {
            let place = Place { build: self.build.id, task: task.id };
            let Some(folder) = self.repository.worktree_of(place) else { continue };
            let bytes = size::bytes(&folder);
            let kept = match self.is_open() {
                Some(open) => Some(open),
                None => self.worktree(place, task.moved.last_run).await?,
            };
            if kept.is_some() {
                self.stay.push(workspace::Project::task_branch(place));
            }
            let what = format!("worktree of “{}”", words::name(task.id, &task.spec));
            self.swept.things.push(Thing { what, bytes, kept });
        }
        Ok(())
    }

    /// Removes a worktree; returns the reason if it stays.
    async fn worktree(&self, place: Place, run: Option<RunId>) -> Result<Option<String>, Error> {
        let run = run.unwrap_or_default();
        // A worktree that cannot be opened is left for a person to inspect.
        let opened = match Workspace::open(self.repository, place, &[]).await {
            Ok(opened) => opened,
            Err(fault) => return Ok(Some(words::plain_line(&fault.message))),
        };
        let needed = if self.remove {
            match opened.remove(run).await? {
                Removed::Gone => None,
                Removed::Kept(why) => Some(why),
            }
        } else {
            opened.needed(run).await?
        };
        Ok(needed.map(|why| match why {
            Why::InPlace => "it is your own".to_owned(),
            Why::Quarantined(why) => words::plain_line(&why),
            Why::Unsaved(1) => "1 change in it is saved nowhere else".to_owned(),
            Why::Unsaved(count) => format!("{count} changes in it are saved nowhere else"),
        }))
    }

    async fn branches(&mut self, branches: &[Leftover]) -> Result<(), Error> {
        for leftover in branches {
            let mut kept = self.is_open().or_else(|| self.branch(leftover));
            if kept.is_none() && self.remove {
                let gone = self.repository.forget_branch(self.build.id, leftover).await?;
                kept = (!gone).then(|| "it moved just now".to_owned());
            }
            let name = leftover.name.strip_prefix(HEADS).unwrap_or(&leftover.name);
            self.swept.things.push(Thing { what: format!("branch {name}"), bytes: 0, kept });
        }
        Ok(())
    }

    fn branch(&self, leftover: &Leftover) -> Option<String> {
        match &leftover.branch {
            _ if self.stay.contains(&leftover.name) => Some("its worktree stays".to_owned()),
            Branch::Free => None,
            Branch::Needed(count) => {
                let commits = words::number(*count, "commit is", "commits are");
                Some(format!(
                    "{commits} in none of your branches: `unstuck land {}`",
                    self.build.id
                ))
            }
            Branch::InUse(by) => {
                let by = words::plain_line(&by.to_string_lossy());
                Some(format!("it is checked out in {by}"))
            }
        }
    }
}
