//! Repositories that an agent or its tools made inside the worktree (`git init`).
//!
//! Git does not look into them, so their files would be part of no change. Unstuck moves their
//! `.git` out of the worktree and keeps it; the files are then ordinary files of the work, judged by
//! the scope and the checks like all others. Submodules that `.gitmodules` lists stay repositories.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;

use super::changes::ChangeKind;
use super::state::io_fault;
use super::workspace::Workspace;

/// A repository in the worktree whose files have become ordinary files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DissolvedRepository {
    /// The folder, relative to the worktree.
    pub path: PathBuf,
    /// The place where its `.git` is kept.
    pub kept: PathBuf,
}

impl Workspace {
    /// Makes the files of new repositories in the worktree ordinary files, and keeps their `.git`.
    pub async fn dissolve_repositories(
        &self,
        run: RunId,
    ) -> Result<Vec<DissolvedRepository>, Fault> {
        let mut dissolved = Vec::new();
        let mut listed = None;
        loop {
            let changes = self.list_changes().await?.into_iter();
            let nested = changes.filter(|change| change.kind == ChangeKind::Repository);
            let mut nested: Vec<PathBuf> = nested.map(|change| change.path).collect();
            if !nested.is_empty() {
                let listed = match &listed {
                    Some(listed) => listed,
                    None => listed.insert(self.list_registered_submodules().await?),
                };
                nested.retain(|path| !listed.contains(path));
            }
            if nested.is_empty() {
                return Ok(dissolved);
            }
            // Repositories inside these are found in the next round.
            for path in nested {
                let from = self.directory.join(&path).join(".git");
                let kept = self.next_kept_repository(run, &path);
                let moved = fs::create_dir_all(kept.parent().unwrap_or(&kept))
                    .and_then(|()| fs::rename(&from, &kept));
                moved.map_err(|error| io_fault(&from, &error))?;
                dissolved.push(DissolvedRepository { path, kept });
            }
        }
    }

    /// Returns the paths that `.gitmodules` in the worktree lists.
    async fn list_registered_submodules(&self) -> Result<BTreeSet<PathBuf>, Fault> {
        let file = self.directory.join(".gitmodules");
        if !file.is_file() {
            return Ok(BTreeSet::new());
        }
        let listed = self.git.list_submodules_in(&file).await?;
        Ok(listed.into_iter().map(|submodule| PathBuf::from(submodule.path)).collect())
    }

    /// Returns an unused path for the `.git` of a repository.
    fn next_kept_repository(&self, run: RunId, path: &Path) -> PathBuf {
        let folder = self.state.kept_folder().join(run.to_string()).join("repositories");
        let place = folder.join(path);
        let mut names = (1..).map(|n: u32| match n {
            1 => place.with_added_extension("git"),
            n => place.with_added_extension(format!("{n}.git")),
        });
        names.find(|name| fs::symlink_metadata(name).is_err()).unwrap_or(place)
    }
}
