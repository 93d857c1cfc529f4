//! Merges one change with another, without touching a working tree.

use std::path::PathBuf;

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::call::Done;
use super::commit::{NewCommit, Person};
use super::fail::Operation;
use super::git::Git;
use super::oid::Oid;
use super::status::{path, records};

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
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
    pub async fn merge(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Merged, Fault> {
        let since = [format!("--merge-base={base}")];
        let done = self.merge_tree(&since, ours, theirs, &[0, 1, UNKNOWN_OPTION]).await?;
        let done = if done.status == UNKNOWN_OPTION {
            self.merge_since(base, ours, theirs).await?
        } else {
            done
        };
        self.merged(&done.stdout).ok_or_else(|| self.unreadable(Operation::Merge))
    }

    /// Returns whether `here` contains all changes of `tip`: the same commits, or their content
    /// squashed or rebased.
    pub async fn has_all_of(&self, here: &Oid, tip: &Oid) -> Result<bool, Fault> {
        let Some(base) = self.merge_base(here, tip).await? else { return Ok(false) };
        if base == *tip {
            return Ok(true);
        }
        let merged = self.merge(&base, here, tip).await?;
        let own = self.tree_of(here.as_str()).await?;
        Ok(merged.conflicts.is_empty() && own.as_ref() == Some(&merged.tree))
    }

    /// Merges with a git before 2.40, which determines the base of a merge itself, by giving it two
    /// commits that have no other possible base.
    async fn merge_since(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Done, Fault> {
        let root = self.with_parents(base, &[]).await?;
        let parents = [root];
        let ours = self.with_parents(ours, &parents).await?;
        let theirs = self.with_parents(theirs, &parents).await?;
        self.merge_tree(&[], &ours, &theirs, &[0, 1]).await
    }

    /// Makes an unreferenced commit with the tree of `commit` and other parents.
    async fn with_parents(&self, commit: &Oid, parents: &[Oid]) -> Result<Oid, Fault> {
        let tree = self.tree_of(commit.as_str()).await?;
        let tree = tree.ok_or_else(|| self.unreadable(Operation::Merge))?;
        let person = Person { name: "Unstuck".to_owned(), email: "unstuck@localhost".to_owned() };
        let message = commit.as_str();
        let person = &person;
        let at = Time::EPOCH;
        let new = NewCommit { tree: &tree, parents, message, person, at, signed: false };
        self.make_commit(new).await
    }

    async fn merge_tree(
        &self,
        since: &[String],
        ours: &Oid,
        theirs: &Oid,
        expected: &[i32],
    ) -> Result<Done, Fault> {
        let call = self.call(Operation::Merge).args(["merge-tree", "--write-tree", "-z"]);
        let call = call.args(["--name-only", "--no-messages"]).args(since);
        let call = call.args([ours.as_str(), theirs.as_str()]).about(ours.as_str());
        call.run_expecting(expected).await
    }

    #[expect(clippy::unused_self, reason = "it reads as one of the operations")]
    fn merged(&self, answer: &[u8]) -> Option<Merged> {
        let mut records = records(answer);
        let tree = Oid::read(records.next()?)?;
        let conflicts: Option<Vec<PathBuf>> =
            records.take_while(|name| !name.is_empty()).map(path).collect();
        Some(Merged { tree, conflicts: conflicts? })
    }
}
