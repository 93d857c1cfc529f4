//! Makes, lists, replays and merges commits.

use std::path::PathBuf;
use std::str;

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::call::GitOutput;
use super::fail::GitAction;
use super::git::Git;
use super::object::Oid;
use super::records::{nonempty_records, parse_path, split_records};

/// The author or committer of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitAuthor {
    /// The name in the commit.
    pub name: String,
    /// The email address in the commit.
    pub email: String,
}

/// A commit to be made. The same parts give the same commit, so that making it twice is harmless.
#[derive(Clone, Debug)]
pub struct NewCommit<'a> {
    /// The tree of the commit.
    pub tree: &'a Oid,
    /// The parents, in order.
    pub parents: &'a [Oid],
    /// The message, without cleanup.
    pub message: &'a str,
    /// The author and committer.
    pub person: &'a CommitAuthor,
    /// The author and committer date, in whole seconds.
    pub at: Time,
    /// `true` to sign the commit if the repository's settings ask for it.
    pub signed: bool,
}

impl Git {
    /// Makes a commit. Moves no branch and runs no hook.
    pub async fn create_commit(&self, new: NewCommit<'_>) -> Result<Oid, Fault> {
        let date = format!("@{} +0000", new.at.as_millis() / 1_000);
        let mut call = self.call(GitAction::Commit).args(["commit-tree", new.tree.as_str()]);
        for parent in new.parents {
            call = call.args(["-p", parent.as_str()]);
        }
        if new.signed
            && self.read_setting("commit.gpgSign").await?.is_some_and(|value| value == "true")
        {
            call = call.args(["-S"]);
        }
        let call = call.args(["-F", "-"]).input(new.message);
        let call = call.env("GIT_AUTHOR_NAME", &new.person.name);
        let call = call.env("GIT_AUTHOR_EMAIL", &new.person.email);
        let call = call.env("GIT_COMMITTER_NAME", &new.person.name);
        let call = call.env("GIT_COMMITTER_EMAIL", &new.person.email);
        let call = call.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        let done = call.run().await?;
        self.parse_oid(&done.stdout, GitAction::Commit)
    }

    /// Returns the name and email address of the repository's settings, if both are set.
    pub async fn read_author(&self) -> Result<Option<CommitAuthor>, Fault> {
        let name = self.read_setting("user.name").await?;
        let email = self.read_setting("user.email").await?;
        Ok(name.zip(email).map(|(name, email)| CommitAuthor { name, email }))
    }

    pub(crate) async fn read_setting(&self, name: &str) -> Result<Option<String>, Fault> {
        let call = self.call(GitAction::Look).args(["config", "--null", "--get", name]);
        let done = call.run_expecting(&[0, 1]).await?;
        let value = done.stdout.strip_suffix(b"\0").map(String::from_utf8_lossy);
        Ok(value.filter(|_| done.status == 0).map(std::borrow::Cow::into_owned))
    }
}

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
        let commits: Option<Vec<CommitSummary>> =
            nonempty_records(&done.stdout).map(parse_commit).collect();
        commits.ok_or_else(|| self.unreadable_fault(GitAction::Look))
    }

    /// Returns the merge base of two commits, or `None` if they have no common history.
    pub async fn find_merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, Fault> {
        let call = self.call(GitAction::Look).args(["merge-base", one.as_str(), other.as_str()]);
        let done = call.run_expecting(&[0, 1]).await?;
        match done.status {
            0 => self.parse_oid(&done.stdout, GitAction::Look).map(Some),
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
        self.parse_oid(&done.stdout, GitAction::Commit)
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
        parse_merge(&done.stdout).ok_or_else(|| self.unreadable_fault(GitAction::Merge))
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
}

fn parse_merge(answer: &[u8]) -> Option<MergeResult> {
    let mut records = split_records(answer);
    let tree = Oid::parse(records.next()?)?;
    let conflicts: Option<Vec<PathBuf>> =
        records.take_while(|name| !name.is_empty()).map(parse_path).collect();
    Some(MergeResult { tree, conflicts: conflicts? })
}
