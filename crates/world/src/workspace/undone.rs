//! Commits that are gone from the work because the agent went back before them, as `git reset --hard` does.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_core::fault::Fault;
use unstuck_core::text::{VALUE_CHARS_MAX, quote_words};

use super::changes::WorktreeContent;
use super::elsewhere::{misplaced_work_fault, render_path_names};
use super::workspace::Workspace;
use crate::git::{DifferenceKind, Oid};

/// Commits from before the work whose changes the work takes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneCommits {
    base: Oid,
    titles: Vec<String>,
    /// Their files that are as before them.
    paths: Vec<PathBuf>,
}

impl Workspace {
    /// Finds commits that the agent went back before, so that its work takes their changes back.
    pub async fn find_undone_commits(&self) -> Result<Option<UndoneCommits>, Fault> {
        let base = self.resolve_base().await?;
        let Some(head) = self.import_head(&base).await? else { return Ok(None) };
        let fork = self.git.find_merge_base(&head, &base).await?;
        let Some(fork) = fork.filter(|fork| *fork != base) else { return Ok(None) };
        let WorktreeContent { tree, .. } = self.capture_content().await?;
        let before = self.resolve_tree(&fork).await?;
        let kept = self.git.diff_trees(&before, &tree).await?;
        let kept: BTreeSet<PathBuf> = kept.into_iter().map(|kept| kept.path).collect();
        let brought = self.git.diff_trees(&before, &self.resolve_tree(&base).await?).await?;
        let undone = brought.into_iter().filter(|file| file.what != DifferenceKind::Deleted);
        let undone = undone.map(|file| file.path).filter(|path| !kept.contains(path));
        let paths: Vec<PathBuf> = undone.collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let commits = self.git.list_commits(&fork, &base).await?;
        let titles = commits.into_iter().map(|commit| commit.title).collect();
        Ok(Some(UndoneCommits { base, titles, paths }))
    }
}

impl UndoneCommits {
    /// Returns which commits the work takes back, as a sentence.
    pub fn to_sentence(&self) -> String {
        let last = self.titles.last().and_then(|title| quote_words(title, VALUE_CHARS_MAX));
        let last = last.unwrap_or_default();
        let commits = match self.titles.len() {
            0 | 1 => format!("the commit {last}"),
            many => format!("{many} commits, the last of them {last},"),
        };
        format!("The work takes back {commits} in {}.", render_path_names(&self.paths))
    }

    /// Returns what the agent is told, as a failed check.
    pub fn to_fault(&self) -> Fault {
        let files: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let output = format!(
            "{} They were made before your task, and you went back before them, with `git reset` for \
             example.\nIf the task does not ask for that, bring them back: git checkout {} -- {}",
            self.to_sentence(),
            self.base,
            files.join(" ")
        );
        misplaced_work_fault("your work takes back commits from before it".to_owned(), output)
    }
}
