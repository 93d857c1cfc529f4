//! Remotes: reading their refs, and pushing commits to them.

use std::collections::BTreeMap;

use unstuck_core::fault::Fault;

use super::call::{GitOutput, SILENCE_MAX};
use super::fail::GitAction;
use super::git::Git;
use super::object::Oid;
use super::records::{nonempty_lines, nonempty_records, parse_ref};

/// Exit code of git for an unknown name of a remote.
const NO_REMOTE: i32 = 2;

impl Git {
    /// Pushes `commit` to `remote` as `reference` (a full name), without force. The caller runs the
    /// pre-push hook before: [`pass_push_hook`](crate::workspace::Workspace::pass_push_hook). Under
    /// a guard, the push is ended when neither git nor the remote says anything for a minute.
    pub async fn push_commit(
        &self,
        remote: &str,
        commit: &Oid,
        reference: &str,
    ) -> Result<(), Fault> {
        self.run_push(&["--no-verify", "--progress"], remote, commit, reference).await
    }

    /// Pushes like [`push_commit`](Self::push_commit), and overwrites a ref that has other commits.
    pub async fn force_push_commit(
        &self,
        remote: &str,
        commit: &Oid,
        reference: &str,
    ) -> Result<(), Fault> {
        self.run_push(&["--no-verify", "--progress", "--force"], remote, commit, reference).await
    }

    /// Pushes as a person would: git itself runs the repository's pre-push hook.
    pub async fn push_with_hook(
        &self,
        remote: &str,
        commit: &Oid,
        reference: &str,
    ) -> Result<(), Fault> {
        self.run_push(&[], remote, commit, reference).await
    }

    async fn run_push(
        &self,
        options: &[&str],
        remote: &str,
        commit: &Oid,
        reference: &str,
    ) -> Result<(), Fault> {
        let call = self.call(GitAction::Push).args(["push", "--porcelain"]).args(options);
        // Tags of the person are no part of the work.
        let call = call.args(["--no-follow-tags"]);
        let refspec = format!("{commit}:{reference}");
        call.args(["--end-of-options", remote, &refspec])
            .with_reference(reference)
            .run()
            .await
            .map(drop)
    }

    /// Returns the address that `remote` is pushed to. A string that is no name of a remote is an
    /// address itself.
    pub async fn read_push_url(&self, remote: &str) -> Result<String, Fault> {
        let done = self.query_push_url(remote).await?;
        let url = String::from_utf8_lossy(done.stdout.trim_ascii_end());
        Ok(if done.status == NO_REMOTE { remote.to_owned() } else { url.into_owned() })
    }

    /// Returns whether `remote` is the name of a remote, or an address.
    pub async fn knows_remote(&self, remote: &str) -> Result<bool, Fault> {
        let done = self.query_push_url(remote).await?;
        Ok(done.status != NO_REMOTE || remote.contains(['/', ':']))
    }

    /// Returns the names of all remotes.
    pub async fn list_remotes(&self) -> Result<Vec<String>, Fault> {
        let done = self.call(GitAction::Look).args(["remote"]).run().await?;
        Ok(String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned).collect())
    }

    async fn query_push_url(&self, remote: &str) -> Result<GitOutput, Fault> {
        let call = self.call(GitAction::Look).args(["remote", "get-url", "--push"]);
        call.args(["--end-of-options", remote]).run_expecting(&[0, NO_REMOTE]).await
    }

    /// Returns the object of the ref at `remote` with exactly this full name, if it exists.
    pub async fn query_remote_ref(
        &self,
        remote: &str,
        reference: &str,
    ) -> Result<Option<Oid>, Fault> {
        let git = self.with_timeout(self.patience.min(SILENCE_MAX));
        let call = git.call(GitAction::AskRemote).args(["ls-remote", "--refs"]);
        let call = call.args(["--end-of-options", remote, reference]).with_reference(reference);
        let done = call.run().await?;
        let refs = nonempty_lines(&done.stdout).map(|line| parse_ref(line, b'\t'));
        let refs: Option<BTreeMap<String, Oid>> = refs.collect();
        let mut refs = refs.ok_or_else(|| self.unreadable_fault(GitAction::AskRemote))?;
        Ok(refs.remove(reference))
    }

    /// Returns the addresses of all remotes: those for fetching, and those for pushing alone.
    pub(crate) async fn read_remote_urls(&self) -> Result<(Vec<String>, Vec<String>), Fault> {
        let call = self.call(GitAction::Look).args(["config", "--null", "--get-regexp"]);
        let done = call.args([r"^remote\..*\.(url|pushurl)$"]).run_expecting(&[0, 1]).await?;
        let mut urls = Vec::new();
        let mut push_urls = Vec::new();
        for record in nonempty_records(&done.stdout) {
            let record = String::from_utf8_lossy(record);
            let Some((name, url)) = record.split_once('\n') else { continue };
            if name.ends_with(".pushurl") { &mut push_urls } else { &mut urls }
                .push(url.to_owned());
        }
        Ok((urls, push_urls))
    }
}
