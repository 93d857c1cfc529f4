//! Reads, writes and compares trees and indexes, checks trees out, and makes patches of them.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::object::Oid;
use super::raw::{self, TreeDifference};
use super::records::{join_paths, split_paths};

impl Git {
    /// Stages these paths as they are in the working tree, new, changed or deleted.
    pub async fn stage_paths<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Fault> {
        self.update_index(&["--add", "--remove", "--replace"], paths).await
    }

    /// Removes these paths from the index, even if the working tree has them.
    pub async fn unstage_paths<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Fault> {
        self.update_index(&["--force-remove"], paths).await
    }

    async fn update_index<'a>(
        &self,
        how: &[&str],
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Fault> {
        let list = join_paths(paths);
        if list.is_empty() {
            return Ok(());
        }
        let call = self.call(GitAction::Commit).args(["update-index"]).args(how);
        call.args(["-z", "--stdin"]).input(list).run().await.map(drop)
    }

    /// Sets these paths in the index to their state in `tree`; removes those that `tree` lacks.
    pub async fn reset_index_paths<'a>(
        &self,
        tree: &Oid,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Fault> {
        let wanted: Vec<&Path> = paths.into_iter().collect();
        let mut entries = Vec::new();
        for path in &wanted {
            entries.extend_from_slice(format!("0 {}\t", tree.null_name()).as_bytes());
            entries.extend_from_slice(path.as_os_str().as_bytes());
            entries.push(0);
        }
        entries.extend_from_slice(&self.list_tree_entries(tree, &wanted).await?);
        let call =
            self.call(GitAction::Revert).args(["update-index", "--replace", "-z", "--index-info"]);
        call.input(entries).run().await.map(drop)
    }

    /// Returns the entries of `tree` at exactly these paths, in git's own format. A long list of
    /// paths does not fit on a command line, so the whole tree is listed and filtered here.
    async fn list_tree_entries(&self, tree: &Oid, wanted: &[&Path]) -> Result<Vec<u8>, Fault> {
        let call = self.call(GitAction::Look).args(["ls-tree", "-r", "-z", "--full-tree"]);
        let done = call.args([tree.as_str()]).run().await?;
        let wanted: std::collections::HashSet<&[u8]> =
            wanted.iter().map(|path| path.as_os_str().as_bytes()).collect();
        let mut kept = Vec::new();
        for record in done.stdout.split_inclusive(|byte| *byte == 0) {
            let name = record.iter().position(|byte| *byte == b'\t').map(|at| &record[at + 1..]);
            let name = name.and_then(|name| name.strip_suffix(b"\0"));
            if name.is_some_and(|name| wanted.contains(name)) {
                kept.extend_from_slice(record);
            }
        }
        Ok(kept)
    }

    /// Returns the names at the root of a commit.
    pub async fn list_root_names(&self, commit: &Oid) -> Result<BTreeSet<PathBuf>, Fault> {
        let call = self.call(GitAction::Look).args(["ls-tree", "-z", "--name-only", "--full-tree"]);
        let done = call.args([commit.as_str()]).run().await?;
        Ok(split_paths(&done.stdout).collect())
    }

    /// Returns the files below this folder that git tracks, or would track if they were added,
    /// relative to this folder.
    pub async fn list_known_files(&self) -> Result<BTreeSet<PathBuf>, Fault> {
        let call = self.call(GitAction::Look).args(["ls-files", "-z", "--cached", "--others"]);
        let done = call.args(["--exclude-standard"]).run().await?;
        Ok(split_paths(&done.stdout).collect())
    }

    /// Returns the symbolic links in a commit.
    pub async fn list_links(&self, commit: &Oid) -> Result<Vec<PathBuf>, Fault> {
        let call = self.call(GitAction::Look).args(["ls-tree", "-r", "-z", "--full-tree"]);
        let done = call.args([commit.as_str()]).run().await?;
        let records = done.stdout.split(|byte| *byte == 0);
        let links = records.filter(|record| record.starts_with(b"120000 "));
        let names = links.filter_map(|record| {
            let at = record.iter().position(|byte| *byte == b'\t')?;
            Some(PathBuf::from(OsStr::from_bytes(&record[at + 1..])))
        });
        Ok(names.collect())
    }

    /// Returns a fault unless all objects of a commit exist: a repository that lost objects still
    /// has its refs.
    pub async fn require_objects(&self, commit: &Oid) -> Result<(), Fault> {
        let call =
            self.call(GitAction::Look).args(["rev-list", "--objects", "--no-walk", "--quiet"]);
        let call = call.args(["--exclude-promisor-objects", commit.as_str()]);
        call.with_reference(commit.as_str()).run().await.map(drop)
    }

    /// Returns the content of a file in a commit, or `None` if there is no such file.
    pub async fn read_file_at(&self, commit: &Oid, path: &Path) -> Result<Option<Vec<u8>>, Fault> {
        let mut name = OsString::from(format!("{commit}:"));
        name.push(path);
        let call = self.call(GitAction::Look).args(["cat-file", "blob"]).args([name]);
        let done = call.run_expecting(&[0, 128]).await?;
        Ok((done.status == 0).then_some(done.stdout))
    }

    /// Returns the text files of a commit that contain a word.
    pub async fn find_files_with_word(
        &self,
        commit: &Oid,
        word: &str,
    ) -> Result<Vec<PathBuf>, Fault> {
        let call = self.call(GitAction::Look).args(["grep", "-lzwFI", "--full-name", "-e", word]);
        let done = call.args([commit.as_str()]).run_expecting(&[0, 1]).await?;
        // Each path follows the commit and a colon.
        let paths = done.stdout.split(|byte| *byte == 0);
        let paths = paths.filter_map(|path| path.get(commit.as_str().len() + 1..));
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Returns those of these paths that are folders in a commit.
    pub async fn filter_folders<'a>(
        &self,
        commit: &Oid,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<BTreeSet<PathBuf>, Fault> {
        let wanted: BTreeSet<&Path> = paths.into_iter().collect();
        let call = self.call(GitAction::Look).args(["ls-tree", "-r", "-d", "-z", "--name-only"]);
        let done = call.args(["--full-tree", commit.as_str()]).run().await?;
        Ok(split_paths(&done.stdout).filter(|path| wanted.contains(path.as_path())).collect())
    }

    /// Writes the index as a tree.
    pub async fn write_tree(&self) -> Result<Oid, Fault> {
        let done = self.call(GitAction::Commit).args(["write-tree"]).run().await?;
        self.parse_oid(&done.stdout, GitAction::Commit)
    }

    /// Replaces the index by `tree`; keeps cached file data of unchanged entries.
    pub async fn read_tree(&self, tree: &Oid) -> Result<(), Fault> {
        let call = self.call(GitAction::Revert).args(["read-tree", "--reset", tree.as_str()]);
        call.run().await?;
        // Refreshing saves reading unchanged files next time; changed ones are listed with exit
        // code 1.
        let call = self.call(GitAction::Revert).args(["update-index", "-q", "--refresh"]);
        call.run_expecting(&[0, 1]).await.map(drop)
    }

    /// Checks out `tree` into the index and the working tree. Removes files that only the index
    /// knows, and keeps untracked ones.
    pub async fn check_out_tree(&self, tree: &Oid) -> Result<(), Fault> {
        let call = self.call(GitAction::Revert).args(["read-tree", "--reset", "-u", tree.as_str()]);
        call.run().await.map(drop)
    }

    /// Checks out these paths of `tree` into the index and the working tree, and removes those that
    /// `tree` lacks. Each has to be in the index or in `tree`. Touches no other path.
    pub async fn check_out_paths(&self, tree: &Oid, paths: &[PathBuf]) -> Result<(), Fault> {
        let list = join_paths(paths.iter().map(PathBuf::as_path));
        if list.is_empty() {
            return Ok(());
        }
        let call = self.call(GitAction::Revert).args(["restore", "--staged", "--worktree"]);
        let call = call.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        call.args(["--source", tree.as_str()]).input(list).run().await.map(drop)
    }

    /// Returns the differences between two trees, with rename detection.
    pub async fn diff_trees(&self, old: &Oid, new: &Oid) -> Result<Vec<TreeDifference>, Fault> {
        let call = self.call(GitAction::Status).args(["diff-tree", "-r", "-M", "--raw", "-z"]);
        let done = call.args([old.as_str(), new.as_str()]).run().await?;
        raw::parse_differences(&done.stdout).map_err(|_| self.unreadable_fault(GitAction::Status))
    }

    /// Returns the change from one tree to another, as a binary-safe patch that can be applied.
    pub async fn create_patch(&self, old: &Oid, new: &Oid) -> Result<Vec<u8>, Fault> {
        self.create_patch_for(old, new, &[]).await
    }

    /// Returns the change of these paths alone, or of all if `paths` is empty.
    pub async fn create_patch_for(
        &self,
        old: &Oid,
        new: &Oid,
        paths: &[PathBuf],
    ) -> Result<Vec<u8>, Fault> {
        let call = self.call(GitAction::Status).args(["diff-tree", "-r", "-p", "-M", "--binary"]);
        let call = call.args(["--full-index", "--no-color", "--no-ext-diff", "--no-textconv"]);
        let call = call.args([old.as_str(), new.as_str(), "--"]).args(paths);
        Ok(call.run().await?.stdout)
    }
}
