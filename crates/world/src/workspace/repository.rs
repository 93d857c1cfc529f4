//! The two git folders of a worktree. The agent has one, `.git` in the worktree (`private.rs`); the
//! supervisor has another, `git` in the task's state folder, through which it looks at the same
//! files. The supervisor's shares settings, refs and objects with the operator's repository, and
//! the agent cannot write to it.

use std::fs;
use std::io;
use std::path::Path;

use unstuck_core::fault::Fault;

use super::agent::REFUSED;
use super::private::{CheckoutPosition, PrivateContents};
use super::project::ProjectRepository;
use super::state::{WorkspaceKey, build_branch_ref, io_fault};
use super::workspace::Workspace;
use crate::git::Oid;
use crate::regular_file::allow_missing;

/// Prefixes of the operator's refs that an agent can read, to compare with them.
const SHOWN: [&str; 4] = ["refs/heads/", "refs/notes/", "refs/remotes/", "refs/tags/"];
/// Prefix of Unstuck's branches among them, of which an agent is shown only its build's.
const OURS: &str = "refs/heads/unstuck/";
/// Files below `info` that decide what git sees of a working tree: those that all worktrees share,
/// and one that each has for itself.
const INFO_OF_ALL: [&str; 2] = ["attributes", "exclude"];
const INFO_OF_ONE: &str = "sparse-checkout";
/// Name of the file with the settings of one working tree, which not every repository has.
const WORKTREE_SETTINGS: &str = "config.worktree";

impl ProjectRepository {
    /// Makes or repairs the supervisor's git folder for a worktree.
    pub(super) fn ensure_git_folder(&self, place: WorkspaceKey) -> Result<(), Fault> {
        let folder = self.task_state(place).git_folder();
        let have = || {
            fs::create_dir_all(folder.join("info"))?;
            ensure_file(
                &folder.join("HEAD"),
                Some(format!("ref: {}\n", place.branch_ref()).as_bytes()),
            )?;
            // The environment of each git call names it, too; some parts of git read only this
            // file.
            let common = self.layout.common_dir.as_os_str().as_encoded_bytes();
            ensure_file(&folder.join("commondir"), Some(&[common, b"\n"].concat()))?;
            // A sparse checkout of the operator's applies to the worktree as well.
            let sparse = Path::new("info").join(INFO_OF_ONE);
            let patterns = allow_missing(fs::read(self.layout.git_dir.join(&sparse)))?;
            ensure_file(&folder.join(&sparse), patterns.as_deref())?;
            let settings = allow_missing(fs::read(self.layout.git_dir.join(WORKTREE_SETTINGS)))?;
            let settings = settings.map(|settings| strip_worktree_settings(&settings));
            ensure_file(&folder.join(WORKTREE_SETTINGS), settings.as_deref())
        };
        have().map_err(|error| io_fault(&folder, &error))?;
        self.forget_linked_worktree(place)
    }

    /// Unregisters a worktree of an earlier version, which was a linked worktree of the operator's
    /// repository.
    fn forget_linked_worktree(&self, place: WorkspaceKey) -> Result<(), Fault> {
        let link = self.worktree_folder(place).join(".git");
        if !link.is_file() {
            return Ok(());
        }
        let entries = fs::read_dir(self.layout.common_dir.join("worktrees"));
        for entry in entries.into_iter().flatten().flatten() {
            let named = fs::read(entry.path().join("gitdir")).unwrap_or_default();
            if named.trim_ascii_end() == link.as_os_str().as_encoded_bytes() {
                fs::remove_dir_all(entry.path())
                    .map_err(|error| io_fault(&entry.path(), &error))?;
            }
        }
        Ok(())
    }

    /// Reads the operator's repository for the contents of an agent's.
    async fn collect_private_contents(
        &self,
        place: WorkspaceKey,
    ) -> Result<PrivateContents, Fault> {
        let own = build_branch_ref(place.build);
        let mut refs = self.git.list_refs(&SHOWN).await?;
        refs.retain(|name, _| !name.starts_with(OURS) || *name == own);
        let mut info = Vec::new();
        let of_all = INFO_OF_ALL.map(|name| (name, &self.layout.common_dir));
        for (name, folder) in of_all.into_iter().chain([(INFO_OF_ONE, &self.layout.git_dir)]) {
            let path = folder.join("info").join(name);
            let found = allow_missing(fs::read(&path)).map_err(|error| io_fault(&path, &error))?;
            info.extend(found.map(|bytes| (name, bytes)));
        }
        let config = self.git.render_agent_settings(&format!("{REFUSED}:")).await?;
        Ok(PrivateContents { config, refs, objects: self.layout.common_dir.join("objects"), info })
    }
}

impl Workspace {
    /// Makes a repository for the agent at the base. Moves the old one to the kept files of its
    /// last run.
    pub(super) async fn create_private(&self) -> Result<(), Fault> {
        let Some(private) = &self.private else { return Ok(()) };
        let base = self.resolve_base().await?;
        let contents = self.project.collect_private_contents(self.place).await?;
        let last = self.read_last_run()?.map(|run| run.to_string()).unwrap_or_default();
        let aside = self.state.kept_folder().join(last).join("git");
        let position =
            CheckoutPosition { branch: &self.branch, at: &base, index: &self.state.index_file() };
        let made = private.create(&contents, position, &aside);
        made.map_err(|error| io_fault(private.folder(), &error))
    }

    /// Cleans the repository that an agent left: its commits stay, and nothing that it planted is
    /// run by the next git there. Makes a new one if it is no longer a valid repository.
    pub(super) async fn clean_private(&self) -> Result<(), Fault> {
        let Some(private) = &self.private else { return Ok(()) };
        if private.is_sound(&self.branch) {
            let contents = self.project.collect_private_contents(self.place).await?;
            if private.reset_configuration(&contents).is_ok() {
                return Ok(());
            }
        }
        self.create_private().await
    }

    /// Sets the agent's index and branch to a commit. Expects the scratch index to match that
    /// commit.
    pub(super) fn position_agent_at(&self, at: &Oid) -> Result<(), Fault> {
        let Some(private) = &self.private else {
            return self
                .state
                .copy_file(&self.state.scratch_index_file(), &self.git_dir.join("index"));
        };
        // The preparation of the next attempt makes a missing one.
        if !private.is_sound(&self.branch) {
            return Ok(());
        }
        let index = &self.state.scratch_index_file();
        let stood = private.set_position(CheckoutPosition { branch: &self.branch, at, index });
        stood.map_err(|error| io_fault(private.folder(), &error))
    }

    /// Points the agent's branch at the commit that was made of its change.
    pub(super) fn point_private_branch(&self, commit: &Oid) -> Result<(), Fault> {
        match &self.private {
            Some(private) if private.is_sound(&self.branch) => {
                let pointed = private.point_branch(&self.branch, commit);
                pointed.map_err(|error| io_fault(private.folder(), &error))
            }
            _ => Ok(()),
        }
    }

    /// Brings the commit that an agent made last into the operator's repository and returns it;
    /// `None` if it made none, or none that can be read.
    pub(super) async fn import_head(&self, base: &Oid) -> Result<Option<Oid>, Fault> {
        let Some(private) = &self.private else {
            return Ok(self.git.resolve_commit("HEAD").await?.filter(|head| head != base));
        };
        match private.read_head().filter(|head| head != base) {
            Some(head) if self.import_object(&head, base).await => Ok(Some(head)),
            _ => Ok(None),
        }
    }

    /// Brings an object of the agent's into the operator's repository, with all that it needs
    /// beyond the base. Git checks each object on the way in. Returns whether the object is there.
    pub(super) async fn import_object(&self, object: &Oid, base: &Oid) -> bool {
        if self.git.has_object(object).await.unwrap_or_default() {
            return true;
        }
        let persons = self.project.layout.common_dir.join("objects");
        let objects = self.private.as_ref().and_then(|own| own.find_plain_objects(&persons));
        let Some(objects) = objects else { return false };
        self.git.import_objects(&objects, object, base).await.is_ok()
    }
}

/// Removes the settings that identify a working tree from the settings of one.
fn strip_worktree_settings(settings: &[u8]) -> Vec<u8> {
    let is_of_one = |line: &&[u8]| {
        let name = line.trim_ascii_start().split(|byte| b"= \t".contains(byte)).next();
        name.is_some_and(|name| {
            name.eq_ignore_ascii_case(b"worktree") || name.eq_ignore_ascii_case(b"bare")
        })
    };
    settings
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !is_of_one(line))
        .collect::<Vec<_>>()
        .concat()
}

/// Makes a file hold these bytes, or removes it; does not write a file that is right already.
fn ensure_file(path: &Path, wanted: Option<&[u8]>) -> io::Result<()> {
    let found = allow_missing(fs::read(path))?;
    match wanted {
        wanted if found.as_deref() == wanted => Ok(()),
        Some(bytes) => fs::write(path, bytes),
        None => fs::remove_file(path),
    }
}
