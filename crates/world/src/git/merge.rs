//! Merges one change with another, without touching a working tree.

use std::path::PathBuf;

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::call::GitOutput;
use super::commit::{CommitAuthor, NewCommit};
use super::fail::GitAction;
use super::git::Git;
use super::oid::Oid;
use super::status::{parse_path, split_records};

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeResult {
    /// The tree with both changes. Where they touch the same lines, it holds both versions between
    /// conflict markers.
    pub tree: Oid,
    /// The files with conflicts.
    pub conflicts: Vec<PathBuf>,
}

/// Exit code of git for an unknown option.
const UNKNOWN_OPTION: i32 = 129;

impl Git {
    /// Applies the changes of `theirs` since `base` to `ours`.
    pub async fn merge_changes(
        &self,
        base: &Oid,
        ours: &Oid,
        theirs: &Oid,
    ) -> Result<MergeResult, Fault> {
        let since = [format!("--merge-base={base}")];
        let done = self.merge_tree(&since, ours, theirs, &[0, 1, UNKNOWN_OPTION]).await?;
        let done = if done.status == UNKNOWN_OPTION {
            self.merge_on_old_git(base, ours, theirs).await?
        } else {
            done
        };
        self.parse_merge(&done.stdout).ok_or_else(|| self.unreadable_fault(GitAction::Merge))
    }

    /// Returns whether `here` contains all changes of `tip`: the same commits, or their content
    /// squashed or rebased.
    pub async fn contains_work_of(&self, here: &Oid, tip: &Oid) -> Result<bool, Fault> {
        let Some(base) = self.find_merge_base(here, tip).await? else { return Ok(false) };
        if base == *tip {
            return Ok(true);
        }
        let merged = self.merge_changes(&base, here, tip).await?;
        let own = self.resolve_tree(here.as_str()).await?;
        Ok(merged.conflicts.is_empty() && own.as_ref() == Some(&merged.tree))
    }

    /// Merges with a git before 2.40, which determines the base of a merge itself, by giving it two
    /// commits that have no other possible base.
    async fn merge_on_old_git(
        &self,
        base: &Oid,
        ours: &Oid,
        theirs: &Oid,
    ) -> Result<GitOutput, Fault> {
        let root = self.reparent_commit(base, &[]).await?;
        let parents = [root];
        let ours = self.reparent_commit(ours, &parents).await?;
        let theirs = self.reparent_commit(theirs, &parents).await?;
        self.merge_tree(&[], &ours, &theirs, &[0, 1]).await
    }

    /// Makes an unreferenced commit with the tree of `commit` and other parents.
    async fn reparent_commit(&self, commit: &Oid, parents: &[Oid]) -> Result<Oid, Fault> {
        let tree = self.resolve_tree(commit.as_str()).await?;
        let tree = tree.ok_or_else(|| self.unreadable_fault(GitAction::Merge))?;
        let person =
            CommitAuthor { name: "Unstuck".to_owned(), email: "unstuck@localhost".to_owned() };
        let message = commit.as_str();
        let person = &person;
        let at = Time::EPOCH;
        let new = NewCommit { tree: &tree, parents, message, person, at, signed: false };
        self.create_commit(new).await
    }

    async fn merge_tree(
        &self,
        since: &[String],
        ours: &Oid,
        theirs: &Oid,
        expected: &[i32],
    ) -> Result<GitOutput, Fault> {
        let call = self.call(GitAction::Merge).args(["merge-tree", "--write-tree", "-z"]);
        let call = call.args(["--name-only", "--no-messages"]).args(since);
        let call = call.args([ours.as_str(), theirs.as_str()]).with_reference(ours.as_str());
        call.run_expecting(expected).await
    }

    #[expect(clippy::unused_self, reason = "it reads as one of the operations")]
    fn parse_merge(&self, answer: &[u8]) -> Option<MergeResult> {
        let mut records = split_records(answer);
        let tree = Oid::parse(records.next()?)?;
        let conflicts: Option<Vec<PathBuf>> =
            records.take_while(|name| !name.is_empty()).map(parse_path).collect();
        Some(MergeResult { tree, conflicts: conflicts? })
    }
}
