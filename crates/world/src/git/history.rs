//! Lists the commits that one branch has and another lacks, and replays them.

use std::str;

use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;
use super::oid::Oid;

/// A commit, as an entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The hash of the commit.
    pub oid: Oid,
    /// The hashes of its parents.
    pub parents: Vec<Oid>,
    /// The first line of its message.
    pub title: String,
}

impl Git {
    /// Returns the commits of `newer` that are not in `older`, oldest first.
    pub async fn commits(&self, older: &Oid, newer: &Oid) -> Result<Vec<Commit>, Fault> {
        let call = self.call(Operation::Look).args(["log", "-z", "--reverse", "--topo-order"]);
        let call = call.args(["--no-show-signature", "--format=%H%n%P%n%s"]);
        let done = call.args([format!("{older}..{newer}")]).run().await?;
        let records = done.stdout.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        let commits: Option<Vec<Commit>> = records.map(read).collect();
        commits.ok_or_else(|| self.unreadable(Operation::Look))
    }

    /// Returns the merge base of two commits, or `None` if they have no common history.
    pub async fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, Fault> {
        let call = self.call(Operation::Look).args(["merge-base", one.as_str(), other.as_str()]);
        let done = call.run_expecting(&[0, 1]).await?;
        match done.status {
            0 => Oid::read(done.stdout.trim_ascii_end())
                .map(Some)
                .ok_or_else(|| self.unreadable(Operation::Look)),
            _ => Ok(None),
        }
    }

    /// Makes a copy of a commit with the same author and message, on another tree and parent. Moves
    /// no branch.
    pub async fn repeat_commit(
        &self,
        commit: &Oid,
        tree: &Oid,
        parent: &Oid,
    ) -> Result<Oid, Fault> {
        let call = self.call(Operation::Look).args(["show", "-s", "--no-show-signature"]);
        let call = call.args(["--format=%an%n%ae%n%ad%n%B", "--date=raw", commit.as_str()]);
        let said = call.run().await?.stdout;
        let said = String::from_utf8_lossy(&said);
        let mut parts = said.splitn(4, '\n');
        let (Some(name), Some(email), Some(date), Some(message)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(self.unreadable(Operation::Look));
        };
        let call = self.call(Operation::Commit).args(["commit-tree", tree.as_str()]);
        let call = call.args(["-p", parent.as_str(), "-F", "-"]).input(message.trim_end());
        let call = call.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email);
        let done = call.env("GIT_AUTHOR_DATE", format!("@{date}")).run().await?;
        Oid::read(done.stdout.trim_ascii_end()).ok_or_else(|| self.unreadable(Operation::Commit))
    }

    /// Fast-forwards the checked-out branch, its index and its files to `commit`, a descendant.
    /// Leaves untracked files that are in the way alone: the result is then a fault, and nothing
    /// has moved.
    pub async fn go_on_to(&self, commit: &Oid) -> Result<(), Fault> {
        let call = self.call(Operation::Merge).args(["merge", "--ff-only", "--no-autostash"]);
        call.args(["--quiet", commit.as_str()]).about(commit.as_str()).run().await.map(drop)
    }
}

fn read(record: &[u8]) -> Option<Commit> {
    let mut lines = record.splitn(3, |byte| *byte == b'\n');
    let oid = Oid::read(lines.next()?)?;
    let parents = str::from_utf8(lines.next()?).ok()?.split_whitespace();
    let parents: Option<Vec<Oid>> = parents.map(|name| Oid::read(name.as_bytes())).collect();
    let title = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    Some(Commit { oid, parents: parents?, title })
}
