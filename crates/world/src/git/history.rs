//! Lists the commits that one branch has and another lacks, and replays them.

use std::str;

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::oid::Oid;

/// A commit, as an entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitSummary {
    /// The hash of the commit.
    pub oid: Oid,
    /// The hashes of its parents.
    pub parents: Vec<Oid>,
    /// The first line of its message.
    pub title: String,
}

impl Git {
    /// Returns the commits of `newer` that are not in `older`, oldest first.
    pub async fn list_commits(
        &self,
        older: &Oid,
        newer: &Oid,
    ) -> Result<Vec<CommitSummary>, Fault> {
        let call = self.call(GitAction::Look).args(["log", "-z", "--reverse", "--topo-order"]);
        let call = call.args(["--no-show-signature", "--format=%H%n%P%n%s"]);
        let done = call.args([format!("{older}..{newer}")]).run().await?;
        let records = done.stdout.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        let commits: Option<Vec<CommitSummary>> = records.map(parse_commit).collect();
        commits.ok_or_else(|| self.unreadable_fault(GitAction::Look))
    }

    /// Returns the merge base of two commits, or `None` if they have no common history.
    pub async fn find_merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, Fault> {
        let call = self.call(GitAction::Look).args(["merge-base", one.as_str(), other.as_str()]);
        let done = call.run_expecting(&[0, 1]).await?;
        match done.status {
            0 => Oid::parse(done.stdout.trim_ascii_end())
                .map(Some)
                .ok_or_else(|| self.unreadable_fault(GitAction::Look)),
            _ => Ok(None),
        }
    }

    /// Makes a copy of a commit with the same author and message, on another tree and parent. Moves
    /// no branch.
    pub async fn recreate_commit(
        &self,
        commit: &Oid,
        tree: &Oid,
        parent: &Oid,
    ) -> Result<Oid, Fault> {
        let call = self.call(GitAction::Look).args(["show", "-s", "--no-show-signature"]);
        let call = call.args(["--format=%an%n%ae%n%ad%n%B", "--date=raw", commit.as_str()]);
        let said = call.run().await?.stdout;
        let said = String::from_utf8_lossy(&said);
        let mut parts = said.splitn(4, '\n');
        let (Some(name), Some(email), Some(date), Some(message)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(self.unreadable_fault(GitAction::Look));
        };
        let call = self.call(GitAction::Commit).args(["commit-tree", tree.as_str()]);
        let call = call.args(["-p", parent.as_str(), "-F", "-"]).input(message.trim_end());
        let call = call.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email);
        let done = call.env("GIT_AUTHOR_DATE", format!("@{date}")).run().await?;
        Oid::parse(done.stdout.trim_ascii_end())
            .ok_or_else(|| self.unreadable_fault(GitAction::Commit))
    }

    /// Fast-forwards the checked-out branch, its index and its files to `commit`, a descendant.
    /// Leaves untracked files that are in the way alone: the result is then a fault, and nothing
    /// has moved.
    pub async fn fast_forward_to(&self, commit: &Oid) -> Result<(), Fault> {
        let call = self.call(GitAction::Merge).args(["merge", "--ff-only", "--no-autostash"]);
        call.args(["--quiet", commit.as_str()])
            .with_reference(commit.as_str())
            .run()
            .await
            .map(drop)
    }
}

fn parse_commit(record: &[u8]) -> Option<CommitSummary> {
    let mut lines = record.splitn(3, |byte| *byte == b'\n');
    let oid = Oid::parse(lines.next()?)?;
    let parents = str::from_utf8(lines.next()?).ok()?.split_whitespace();
    let parents: Option<Vec<Oid>> = parents.map(|name| Oid::parse(name.as_bytes())).collect();
    let title = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    Some(CommitSummary { oid, parents: parents?, title })
}
