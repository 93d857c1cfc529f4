//! Prepares the worktree for a new attempt: a new one, the old one as it was, or the old one reset
//! to its base.
//!
//! Every step looks at the current state and does only what is missing, so that after a kill at any
//! point it can be repeated.

use std::fs;
use std::path::Path;

use unstuck_core::engine::{RunId, Start};
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::footprint::Author;
use super::in_place::IN_PLACE;
use super::names::Place;
use super::private::PrivateRepository;
use super::project::{Project, missing};
use super::save::all_moved;
use super::set_up::SETUP;
use super::share::shareable;
use super::shell::Shell;
use super::state::failed;
use super::workspace::{QUARANTINE, Workspace};
use crate::git::{Oid, Reach, RefChange};

/// Name of the state file with the run that works in the worktree, or did last.
const RUN: &str = "run";
/// Locks that git leaves in a worktree's own folder when it is killed.
const STALE_LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

/// The parameters of an attempt that is about to begin.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// The build and the task.
    pub place: Place,
    /// The run that begins.
    pub run: RunId,
    /// The state of the files that the attempt is to find.
    pub start: Start,
    /// The build's head, from which a new worktree starts.
    pub head: Oid,
    /// Paths that the worktree shares with the operator's own tree.
    pub share: Vec<String>,
    /// Commands that are run once in a new worktree.
    pub setup: Vec<String>,
    /// `true` to work in the operator's own tree, which must be clean for that.
    pub in_place: bool,
    /// The time of commits that the preparation makes.
    pub now: Time,
}

impl Workspace {
    /// Prepares the worktree, its git folders, shared paths and setup for an attempt, and snapshots
    /// the operator's repository.
    pub async fn prepare(
        project: &Project,
        wanted: &Preparation,
        shell: &Shell,
    ) -> Result<Self, Fault> {
        let workspace = if wanted.in_place {
            Self::take_in_place(project, wanted).await?
        } else {
            Self::have_worktree(project, wanted).await?
        };
        // A killed attempt has not restored the operator's repository.
        if let Some(run) = workspace.last_run()? {
            workspace.restore_shared(run, Reach::Unknown).await?;
        }
        workspace.put_right().await?;
        workspace.make_up_for_mark().await?;
        workspace.as_wanted(wanted).await?;
        workspace.have_private(wanted.start).await?;
        workspace.state.write(RUN, wanted.run.0.to_string().as_bytes())?;
        workspace.share()?;
        workspace.lead_to_own_code()?;
        workspace.set_up(&wanted.setup, shell).await?;
        project.back_up(wanted.place.build).await?;
        workspace.note_shared().await?;
        Ok(workspace)
    }

    /// Opens a worktree that was prepared before, to continue in it after a kill: finishes a move
    /// that was begun and removes stale locks.
    pub async fn open(project: &Project, place: Place, share: &[String]) -> Result<Self, Fault> {
        let workspace = Self::as_left(project, place, share).await?;
        workspace.put_right().await?;
        Ok(workspace)
    }

    /// Opens a worktree that was prepared before, only to read it.
    pub async fn look_at(project: &Project, place: Place) -> Result<Self, Fault> {
        Self::as_left(project, place, &[]).await
    }

    async fn as_left(project: &Project, place: Place, share: &[String]) -> Result<Self, Fault> {
        if project.state(place).read(IN_PLACE)?.is_some() {
            Self::in_place_at(project, place).await
        } else {
            Self::at(project, place, share)
        }
    }

    async fn put_right(&self) -> Result<(), Fault> {
        self.clear_stale()?;
        self.finish_move().await
    }

    fn at(project: &Project, place: Place, share: &[String]) -> Result<Self, Fault> {
        let directory = project.worktree(place);
        let state = project.state(place);
        if !directory.is_dir() {
            let message = format!("{} is no worktree", directory.display());
            return Err(missing(message, "the task's worktree"));
        }
        project.have_git_folder(place)?;
        let git_dir = state.git();
        let common_dir = &project.layout.common_dir;
        Ok(Self {
            project: project.clone(),
            place,
            git: project.git.in_worktree(&directory, &git_dir, common_dir),
            private: Some(PrivateRepository::at(directory.join(".git"), state.staging())),
            state,
            branch: place.branch(),
            in_place: false,
            shared: shareable(share)?,
            directory,
            git_dir,
        })
    }

    async fn have_worktree(project: &Project, wanted: &Preparation) -> Result<Self, Fault> {
        let place = wanted.place;
        let directory = project.worktree(place);
        let state = project.state(place);
        let fresh = matches!(wanted.start, Start::Fresh | Start::NewWorktree);
        let quarantined = state.read(QUARANTINE)?;
        if let Some(why) = quarantined.as_ref().filter(|_| !fresh) {
            let why = String::from_utf8_lossy(why).into_owned();
            return Err(crate::git::Operation::Revert.fault(why, None, None));
        }
        let whole = directory.is_dir() && state.index().is_file();
        if whole && (wanted.start == Start::NewWorktree || quarantined.is_some()) {
            let old = Self::at(project, place, &wanted.share)?;
            old.put_aside(wanted).await?;
        }
        if !(whole && state.index().is_file()) {
            set_aside(project, place, &directory)?;
            make(project, wanted, &directory).await?;
        }
        Self::at(project, place, &wanted.share)
    }

    /// Makes the repository that the agent finds: the one it left, or a new one where the files are
    /// new.
    async fn have_private(&self, start: Start) -> Result<(), Fault> {
        match start {
            Start::Resume | Start::Compacted | Start::KeepTree => self.clean_private().await,
            Start::FromBase | Start::Fresh | Start::NewWorktree => self.make_private().await,
        }
    }

    /// Removes an old worktree after saving it; leaves the folder as it is if it cannot be saved.
    async fn put_aside(&self, wanted: &Preparation) -> Result<(), Fault> {
        let saved = self.save_last(wanted.now).await;
        let sound = saved.is_ok() && self.quarantined()?.is_none();
        self.state.forget("index")?;
        self.state.forget(SETUP)?;
        self.state.forget(QUARANTINE)?;
        if sound {
            // A folder that cannot be removed is moved out of the way later.
            let _ = fs::remove_dir_all(&self.directory);
        }
        Ok(())
    }

    async fn as_wanted(&self, wanted: &Preparation) -> Result<(), Fault> {
        match wanted.start {
            Start::Resume | Start::Compacted => Ok(()),
            Start::KeepTree => self.save_last(wanted.now).await.map(drop),
            Start::FromBase => self.to(&self.base().await?, wanted.now).await,
            Start::Fresh | Start::NewWorktree => self.to(&wanted.head, wanted.now).await,
        }
    }

    /// Saves the attempt in the worktree, then resets the worktree to a commit.
    async fn to(&self, base: &Oid, now: Time) -> Result<(), Fault> {
        let saved = self.save_last(now).await?;
        let here = self.base().await?;
        if saved.is_none() && here == *base {
            return self.have_submodules(&self.ours(), base).await;
        }
        let tree = self.tree_of(base).await?;
        self.relocate(&tree, base, &saved.unwrap_or(here), now).await
    }

    /// Saves the changes that the last run left.
    async fn save_last(&self, now: Time) -> Result<Option<Oid>, Fault> {
        match self.last_run()? {
            Some(run) => self.save(run, now).await,
            None => Ok(None),
        }
    }

    pub(super) fn last_run(&self) -> Result<Option<RunId>, Fault> {
        let run = self.state.read(RUN)?;
        Ok(run.and_then(|run| String::from_utf8(run).ok()?.parse().ok()).map(RunId))
    }

    /// Removes lock files that git left: their owners have ended, because the caller holds the
    /// run's lock.
    fn clear_stale(&self) -> Result<(), Fault> {
        let own = if self.in_place { &[][..] } else { &STALE_LOCKS[..] };
        let locks = own.iter().map(|name| self.git_dir.join(name));
        let ours = [self.state.index(), self.state.scratch_index()];
        for lock in locks.chain(ours.map(|index| index.with_added_extension("lock"))) {
            match fs::remove_file(&lock) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(&lock, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Completes the footprint of setup or check commands that ran when the holder was killed: no
    /// agent has worked since.
    async fn make_up_for_mark(&self) -> Result<(), Fault> {
        self.give_index_back()?;
        self.settle_mark(Author::Setup).await.map(drop)
    }
}

/// Makes a worktree at the build's head or at the task's known base. Writes the supervisor's index
/// last: its presence says that the worktree is complete.
async fn make(project: &Project, wanted: &Preparation, directory: &Path) -> Result<(), Fault> {
    let place = wanted.place;
    let state = project.state(place);
    let base = match project.git.commit_of(&place.base()).await? {
        Some(base) if wanted.start != Start::Fresh => base,
        _ => wanted.head.clone(),
    };
    let refs = [place.base(), place.branch()];
    all_at(project, refs, &base).await?;
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    let workspace = Workspace::at(project, place, &[])?;
    for name in [SETUP, QUARANTINE, RUN, "index.scratch"] {
        state.forget(name)?;
    }
    let scratch = workspace.git.with_index(state.scratch_index());
    scratch.check_out(&workspace.tree_of(&base).await?).await?;
    workspace.have_submodules(&scratch, &base).await?;
    workspace.forget_footprint()?;
    workspace.note_untouched(&scratch).await?;
    state.copy(&state.scratch_index(), &state.index())
}

/// Points refs of a task at its base, in one transaction.
pub(super) async fn all_at(
    project: &Project,
    names: impl IntoIterator<Item = String>,
    base: &Oid,
) -> Result<(), Fault> {
    let mut changes = Vec::new();
    for name in names {
        let old = project.git.commit_of(&name).await?;
        if old.as_ref() != Some(base) {
            changes.push(RefChange { name, old, new: Some(base.clone()) });
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    all_moved(project.git.swap(&changes, "unstuck: begin a task").await?)
}

/// Moves any file or folder at the worktree's path out of the way. Deletes nothing.
fn set_aside(project: &Project, place: Place, directory: &Path) -> Result<(), Fault> {
    if fs::symlink_metadata(directory).is_err() {
        return Ok(());
    }
    let aside = project.aside(place);
    let moved = fs::create_dir_all(aside.parent().unwrap_or(&aside))
        .and_then(|()| fs::rename(directory, &aside));
    moved.map_err(|error| failed(directory, &error))
}
