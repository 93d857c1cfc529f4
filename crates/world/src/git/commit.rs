//! Makes commits of trees, and reads settings about them.

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::fail::GitAction;
use super::git::Git;
use super::oid::Oid;

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
        Oid::parse(done.stdout.trim_ascii_end())
            .ok_or_else(|| self.unreadable_fault(GitAction::Commit))
    }

    /// Returns the name and email address of the repository's settings, if both are set.
    pub async fn read_author(&self) -> Result<Option<CommitAuthor>, Fault> {
        let name = self.read_setting("user.name").await?;
        let email = self.read_setting("user.email").await?;
        Ok(name.zip(email).map(|(name, email)| CommitAuthor { name, email }))
    }

    /// Returns the value of a setting.
    pub(super) async fn read_setting(&self, name: &str) -> Result<Option<String>, Fault> {
        let call = self.call(GitAction::Look).args(["config", "--null", "--get", name]);
        let done = call.run_expecting(&[0, 1]).await?;
        let value = done.stdout.strip_suffix(b"\0").map(String::from_utf8_lossy);
        Ok(value.filter(|_| done.status == 0).map(std::borrow::Cow::into_owned))
    }
}
