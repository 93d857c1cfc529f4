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

use super::footprint::CommandAuthor;
use super::in_place::IN_PLACE;
use super::private::PrivateRepository;
use super::project::{ProjectRepository, missing_fault};
use super::shared::require_shareable;
use super::shell::{SETUP, Shell};
use super::state::{WorkspaceKey, io_fault};
use super::workspace::{QUARANTINE, Workspace, point_refs};
use crate::git::{GitAction, Oid};
use crate::regular_file::allow_missing;

/// Name of the state file with the run that works in the worktree, or did last.
const RUN: &str = "run";
/// Locks that git leaves in a worktree's own folder when it is killed.
const STALE_LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

/// The parameters of an attempt that is about to begin.
#[derive(Clone, Debug)]
pub struct WorkspacePreparation {
    /// The build and the task.
    pub place: WorkspaceKey,
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
    /// Prepares the worktree, its git folders, shared paths and setup for an attempt, and backs up
    /// the operator's repository.
    pub async fn prepare(
        project: &ProjectRepository,
        wanted: &WorkspacePreparation,
        shell: &Shell,
    ) -> Result<Self, Fault> {
        let workspace = if wanted.in_place {
            Self::prepare_in_place(project, wanted.place, &wanted.head).await?
        } else {
            Self::ensure_worktree(project, wanted).await?
        };
        // A killed attempt has not restored the operator's repository.
        if let Some(run) = workspace.read_last_run()? {
            workspace.restore_repository(run).await?;
        }
        workspace.repair_worktree().await?;
        // Setup or check commands may have run at a kill, and no agent has worked since.
        workspace.restore_agent_index()?;
        workspace.settle_mark(CommandAuthor::Setup).await?;
        workspace.apply_start(wanted).await?;
        workspace.ensure_private(wanted.start).await?;
        workspace.state.write_file(RUN, wanted.run.0.to_string().as_bytes())?;
        workspace.ensure_project_folder()?;
        workspace.share_paths()?;
        workspace.lead_to_own_code()?;
        workspace.run_setup_once(&wanted.setup, shell).await?;
        project.back_up_repository(wanted.place.build).await?;
        Ok(workspace)
    }

    /// Opens a worktree that was prepared before, to continue in it after a kill: finishes a move
    /// that was begun and removes stale locks.
    pub async fn open(
        project: &ProjectRepository,
        place: WorkspaceKey,
        share: &[String],
    ) -> Result<Self, Fault> {
        let workspace = Self::open_unrepaired(project, place, share).await?;
        workspace.repair_worktree().await?;
        Ok(workspace)
    }

    /// Opens a worktree that was prepared before, only to read it.
    pub async fn open_read_only(
        project: &ProjectRepository,
        place: WorkspaceKey,
    ) -> Result<Self, Fault> {
        Self::open_unrepaired(project, place, &[]).await
    }

    async fn open_unrepaired(
        project: &ProjectRepository,
        place: WorkspaceKey,
        share: &[String],
    ) -> Result<Self, Fault> {
        if project.task_state(place).read_file(IN_PLACE)?.is_some() {
            Self::open_in_place(project, place).await
        } else {
            Self::open_worktree(project, place, share)
        }
    }

    async fn repair_worktree(&self) -> Result<(), Fault> {
        self.remove_stale_locks()?;
        self.finish_move().await
    }

    fn open_worktree(
        project: &ProjectRepository,
        place: WorkspaceKey,
        share: &[String],
    ) -> Result<Self, Fault> {
        let directory = project.worktree_folder(place);
        let state = project.task_state(place);
        if !directory.is_dir() {
            let message = format!("{} is no worktree", directory.display());
            return Err(missing_fault(message, "the task's worktree"));
        }
        project.ensure_git_folder(place)?;
        let git_dir = state.git_folder();
        let common_dir = &project.layout.common_dir;
        Ok(Self {
            project: project.clone(),
            place,
            git: project.git.for_worktree(&directory, &git_dir, common_dir),
            private: Some(PrivateRepository::new(directory.join(".git"), state.staging_folder())),
            state,
            branch: place.branch_ref(),
            in_place: false,
            shared: require_shareable(share)?,
            directory,
            git_dir,
        })
    }

    async fn ensure_worktree(
        project: &ProjectRepository,
        wanted: &WorkspacePreparation,
    ) -> Result<Self, Fault> {
        let place = wanted.place;
        let directory = project.worktree_folder(place);
        let state = project.task_state(place);
        let fresh = matches!(wanted.start, Start::Fresh | Start::NewWorktree);
        let quarantined = state.read_file(QUARANTINE)?;
        if let Some(why) = quarantined.as_ref().filter(|_| !fresh) {
            let why = String::from_utf8_lossy(why).into_owned();
            return Err(GitAction::Revert.to_fault(why, None, None));
        }
        let whole = directory.is_dir() && state.index_file().is_file();
        if whole && (wanted.start == Start::NewWorktree || quarantined.is_some()) {
            let old = Self::open_worktree(project, place, &wanted.share)?;
            old.retire_worktree(wanted).await?;
        }
        if !(whole && state.index_file().is_file()) {
            move_folder_aside(project, place, &directory)?;
            create_worktree(project, wanted, &directory).await?;
        }
        Self::open_worktree(project, place, &wanted.share)
    }

    /// Makes the repository that the agent finds: the one it left, or a new one where the files are
    /// new.
    async fn ensure_private(&self, start: Start) -> Result<(), Fault> {
        match start {
            Start::Resume | Start::Compacted | Start::KeepTree => self.clean_private().await,
            Start::FromBase | Start::Fresh | Start::NewWorktree => self.create_private().await,
        }
    }

    /// Removes an old worktree after saving it; leaves the folder as it is if it cannot be saved.
    async fn retire_worktree(&self, wanted: &WorkspacePreparation) -> Result<(), Fault> {
        let saved = self.save_last_run(wanted.now).await;
        let sound = saved.is_ok() && self.quarantine_reason()?.is_none();
        self.state.delete_file("index")?;
        self.state.delete_file(SETUP)?;
        self.state.delete_file(QUARANTINE)?;
        if sound {
            // A folder that cannot be removed is moved out of the way later.
            let _ = fs::remove_dir_all(&self.directory);
        }
        Ok(())
    }

    async fn apply_start(&self, wanted: &WorkspacePreparation) -> Result<(), Fault> {
        match wanted.start {
            Start::Resume | Start::Compacted => Ok(()),
            Start::KeepTree => self.save_last_run(wanted.now).await.map(drop),
            Start::FromBase => self.go_to_commit(&self.resolve_base().await?, wanted.now).await,
            Start::Fresh | Start::NewWorktree => self.go_to_commit(&wanted.head, wanted.now).await,
        }
    }

    /// Saves the attempt in the worktree, then resets the worktree to a commit.
    async fn go_to_commit(&self, base: &Oid, now: Time) -> Result<(), Fault> {
        let saved = self.save_last_run(now).await?;
        let here = self.resolve_base().await?;
        if saved.is_none() && here == *base {
            return self.ensure_submodules(&self.git_with_base_index(), base).await;
        }
        let tree = self.resolve_tree(base).await?;
        self.relocate_to(&tree, base, &saved.unwrap_or(here), now).await
    }

    async fn save_last_run(&self, now: Time) -> Result<Option<Oid>, Fault> {
        match self.read_last_run()? {
            Some(run) => self.save_attempt(run, now).await,
            None => Ok(None),
        }
    }

    pub(super) fn read_last_run(&self) -> Result<Option<RunId>, Fault> {
        let run = self.state.read_file(RUN)?;
        Ok(run.and_then(|run| String::from_utf8(run).ok()?.parse().ok()).map(RunId))
    }

    /// Removes lock files that git left: their owners have ended, because the caller holds the
    /// run's lock.
    fn remove_stale_locks(&self) -> Result<(), Fault> {
        let own = if self.in_place { &[][..] } else { &STALE_LOCKS[..] };
        let locks = own.iter().map(|name| self.git_dir.join(name));
        let ours = [self.state.index_file(), self.state.scratch_index_file()];
        for lock in locks.chain(ours.map(|index| index.with_added_extension("lock"))) {
            allow_missing(fs::remove_file(&lock)).map_err(|error| io_fault(&lock, &error))?;
        }
        Ok(())
    }
}

/// Makes a worktree at the build's head or at the task's known base. Writes the supervisor's index
/// last: its presence says that the worktree is complete.
async fn create_worktree(
    project: &ProjectRepository,
    wanted: &WorkspacePreparation,
    directory: &Path,
) -> Result<(), Fault> {
    let place = wanted.place;
    let state = project.task_state(place);
    let base = match project.git.resolve_commit(&place.base_ref()).await? {
        Some(base) if wanted.start != Start::Fresh => base,
        _ => wanted.head.clone(),
    };
    let refs = [place.base_ref(), place.branch_ref()];
    point_refs(project, refs, &base).await?;
    fs::create_dir_all(directory).map_err(|error| io_fault(directory, &error))?;
    let workspace = Workspace::open_worktree(project, place, &[])?;
    for name in [SETUP, QUARANTINE, RUN, "index.scratch"] {
        state.delete_file(name)?;
    }
    let scratch = workspace.git.with_index(state.scratch_index_file());
    scratch.check_out_tree(&workspace.resolve_tree(&base).await?).await?;
    workspace.ensure_submodules(&scratch, &base).await?;
    workspace.delete_footprint()?;
    workspace.note_untouched(&scratch).await?;
    state.copy_file(&state.scratch_index_file(), &state.index_file())
}

/// Moves any file or folder at the worktree's path out of the way. Deletes nothing.
fn move_folder_aside(
    project: &ProjectRepository,
    place: WorkspaceKey,
    directory: &Path,
) -> Result<(), Fault> {
    if fs::symlink_metadata(directory).is_err() {
        return Ok(());
    }
    let aside = project.next_aside_folder(place);
    let moved = fs::create_dir_all(aside.parent().unwrap_or(&aside))
        .and_then(|()| fs::rename(directory, &aside));
    moved.map_err(|error| io_fault(directory, &error))
}
