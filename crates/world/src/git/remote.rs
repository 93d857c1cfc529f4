//! Other repositories: what they hold, and sending them commits.

use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;
use super::oid::Oid;

/// How git says that no remote goes by a name.
const NO_REMOTE: i32 = 2;

/// A ref of another repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRef {
    /// Its full name.
    pub name: String,
    /// The object it names.
    pub oid: Oid,
}

impl Git {
    /// Sends `commit` to be `reference` (a full name) at `remote`. Nothing is forced. The hook that
    /// may refuse it is asked before: [`pass_push_hook`](crate::workspace::Workspace::pass_push_hook).
    pub async fn push(&self, remote: &str, commit: &Oid, reference: &str) -> Result<(), Fault> {
        self.send(&["--no-verify"], remote, commit, reference).await
    }

    /// The same as a person would do it: the repository's own hook is asked by git.
    pub async fn push_with_hook(
        &self,
        remote: &str,
        commit: &Oid,
        reference: &str,
    ) -> Result<(), Fault> {
        self.send(&[], remote, commit, reference).await
    }

    async fn send(
        &self,
        options: &[&str],
        remote: &str,
        commit: &Oid,
        reference: &str,
    ) -> Result<(), Fault> {
        let call = self.call(Operation::Push).args(["push", "--porcelain"]).args(options);
        let refspec = format!("{commit}:{reference}");
        call.args(["--end-of-options", remote, &refspec]).about(reference).run().await.map(drop)
    }

    /// The address that `remote` is pushed to. What is no name of a remote is an address itself.
    pub async fn push_url(&self, remote: &str) -> Result<String, Fault> {
        let call = self.call(Operation::Look).args(["remote", "get-url", "--push"]);
        let done = call.args(["--end-of-options", remote]).run_expecting(&[0, NO_REMOTE]).await?;
        let url = String::from_utf8_lossy(done.stdout.trim_ascii_end());
        Ok(if done.status == NO_REMOTE { remote.to_owned() } else { url.into_owned() })
    }

    /// Whether a remote goes by this name, or it is an address itself.
    pub async fn knows_remote(&self, remote: &str) -> Result<bool, Fault> {
        let call = self.call(Operation::Look).args(["remote", "get-url", "--push"]);
        let done = call.args(["--end-of-options", remote]).run_expecting(&[0, NO_REMOTE]).await?;
        Ok(done.status != NO_REMOTE || remote.contains(['/', ':']))
    }

    /// The refs of `remote` that go by exactly this full name: one or none.
    pub async fn ls_remote(&self, remote: &str, reference: &str) -> Result<Option<Oid>, Fault> {
        let call = self.call(Operation::AskRemote).args(["ls-remote", "--refs"]);
        let call = call.args(["--end-of-options", remote, reference]).about(reference);
        let done = call.run().await?;
        let refs: Option<Vec<RemoteRef>> = done
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(read)
            .collect();
        let refs = refs.ok_or_else(|| self.unreadable(Operation::AskRemote))?;
        Ok(refs.into_iter().find(|found| found.name == reference).map(|found| found.oid))
    }

    /// The addresses of all remotes: those that are fetched from, and those set for pushing alone.
    pub(crate) async fn remote_urls(&self) -> Result<(Vec<String>, Vec<String>), Fault> {
        let call = self.call(Operation::Look).args(["config", "--null", "--get-regexp"]);
        let done = call.args([r"^remote\..*\.(url|pushurl)$"]).run_expecting(&[0, 1]).await?;
        let (mut urls, mut push_urls) = (Vec::new(), Vec::new());
        for record in done.stdout.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let record = String::from_utf8_lossy(record);
            let Some((name, url)) = record.split_once('\n') else { continue };
            if name.ends_with(".pushurl") { &mut push_urls } else { &mut urls }
                .push(url.to_owned());
        }
        Ok((urls, push_urls))
    }
}

fn read(line: &[u8]) -> Option<RemoteRef> {
    let at = line.iter().position(|byte| *byte == b'\t')?;
    let name = std::str::from_utf8(&line[at + 1..]).ok()?.to_owned();
    Some(RemoteRef { name, oid: Oid::read(&line[..at])? })
}
