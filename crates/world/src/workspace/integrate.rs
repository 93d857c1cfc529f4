//! Rebases a task's change onto the build's head, inside the worktree.

use std::path::PathBuf;

use unstuck_core::engine::RunId;
use unstuck_core::fault::{Fault, GitOperation};
use unstuck_core::time::Time;

use super::changes::WorktreeChange;
use super::workspace::Workspace;
use crate::git::Oid;
use crate::regular_file::read_regular;

/// Maximum size of a file that is searched for conflict markers, in bytes: a longer one is no text
/// that people merge.
const MARKED_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// The outcome of an integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegrationOutcome {
    /// The change was based on that head already.
    Already,
    /// The worktree holds the head with the change on it; earlier check results no longer count.
    Onto,
}

impl Workspace {
    /// Rebases the change onto `head`. If both touch the same lines, the result is `GIT_CONFLICT`:
    /// the files then hold both versions between markers, with `head` as the base, so that the next
    /// attempt can resolve them or start from there; the original attempt is saved.
    pub async fn integrate_onto(
        &self,
        head: &Oid,
        run: RunId,
        now: Time,
    ) -> Result<IntegrationOutcome, Fault> {
        self.finish_move().await?;
        let base = self.resolve_base().await?;
        let changes = self.list_changes().await?;
        self.require_no_conflict_marks(&changes)?;
        if base == *head {
            return Ok(IntegrationOutcome::Already);
        }
        let tree = self.write_tree(&changes).await?;
        self.save_attempt(run, now).await?;
        let parents = [base.clone()];
        let change = self.commit_snapshot(&tree, &parents, "The change\n", now).await?;
        let merged = self.git.merge_changes(&base, head, &change).await?;
        self.relocate_to(&merged.tree, head, &change, now).await?;
        if merged.conflicts.is_empty() {
            return Ok(IntegrationOutcome::Onto);
        }
        Err(conflict_fault(&merged.conflicts, Some(head)))
    }

    /// Returns `GIT_CONFLICT` if changed files contain conflict markers of an earlier integration.
    /// These carry the full hash of a commit, so no other text is taken for one.
    fn require_no_conflict_marks(&self, changes: &[WorktreeChange]) -> Result<(), Fault> {
        let marked = |change: &&WorktreeChange| {
            let path = self.directory.join(&change.path);
            let text = read_regular(&path, MARKED_BYTES_MAX).unwrap_or_default();
            text.split(|byte| *byte == b'\n').any(is_conflict_mark)
        };
        let marked: Vec<PathBuf> =
            changes.iter().filter(marked).map(|change| change.path.clone()).collect();
        if marked.is_empty() { Ok(()) } else { Err(conflict_fault(&marked, None)) }
    }
}

fn is_conflict_mark(line: &[u8]) -> bool {
    let name = line.strip_prefix(b"<<<<<<< ").or_else(|| line.strip_prefix(b">>>>>>> "));
    name.is_some_and(|name| Oid::parse(name.trim_ascii_end()).is_some())
}

fn conflict_fault(files: &[PathBuf], head: Option<&Oid>) -> Fault {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let context = GitOperation {
        operation: "merge".to_owned(),
        reference: head.map(ToString::to_string),
        ..GitOperation::default()
    };
    let message = format!("conflict in {}", names.join(", "));
    Fault::git_conflict("git.merge", message, context)
}
