//! Remotes: reading their refs, and pushing commits to them.

use std::time::Duration;

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::oid::Oid;

/// Maximum silence of a remote. A push reports progress all the time; a query has a short answer.
pub(super) const SILENCE_MAX: Duration = Duration::from_mins(1);

/// Beginnings of lines in which git or a remote reports progress.
const PROGRESS: [&str; 9] = [
    "Enumerating objects",
    "Counting objects",
    "Delta compression using",
    "Compressing objects",
    "Writing objects",
    "Total ",
    "Resolving deltas",
    "Unpacking objects",
    "Checking connectivity",
];

/// Exit code of git for an unknown name of a remote.
const NO_REMOTE: i32 = 2;

/// A ref of another repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRef {
    /// The full name of the ref.
    pub name: String,
    /// The object it points to.
    pub oid: Oid,
}

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
        let call = self.call(GitAction::Look).args(["remote", "get-url", "--push"]);
        let done = call.args(["--end-of-options", remote]).run_expecting(&[0, NO_REMOTE]).await?;
        let url = String::from_utf8_lossy(done.stdout.trim_ascii_end());
        Ok(if done.status == NO_REMOTE { remote.to_owned() } else { url.into_owned() })
    }

    /// Returns whether `remote` is the name of a remote, or an address.
    pub async fn knows_remote(&self, remote: &str) -> Result<bool, Fault> {
        let call = self.call(GitAction::Look).args(["remote", "get-url", "--push"]);
        let done = call.args(["--end-of-options", remote]).run_expecting(&[0, NO_REMOTE]).await?;
        Ok(done.status != NO_REMOTE || remote.contains(['/', ':']))
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
        let refs: Option<Vec<RemoteRef>> = done
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(parse_remote_ref)
            .collect();
        let refs = refs.ok_or_else(|| self.unreadable_fault(GitAction::AskRemote))?;
        Ok(refs.into_iter().find(|found| found.name == reference).map(|found| found.oid))
    }

    /// Returns the addresses of all remotes: those for fetching, and those for pushing alone.
    pub(crate) async fn read_remote_urls(&self) -> Result<(Vec<String>, Vec<String>), Fault> {
        let call = self.call(GitAction::Look).args(["config", "--null", "--get-regexp"]);
        let done = call.args([r"^remote\..*\.(url|pushurl)$"]).run_expecting(&[0, 1]).await?;
        let mut urls = Vec::new();
        let mut push_urls = Vec::new();
        for record in done.stdout.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let record = String::from_utf8_lossy(record);
            let Some((name, url)) = record.split_once('\n') else { continue };
            if name.ends_with(".pushurl") { &mut push_urls } else { &mut urls }
                .push(url.to_owned());
        }
        Ok((urls, push_urls))
    }
}

/// Removes progress reports from the output of a push.
pub(super) fn strip_progress(said: &str) -> String {
    // A carriage return overwrites the line, as on a terminal.
    let lines = said.lines().map(|line| line.rsplit('\r').find(|part| !part.is_empty()));
    let told = lines.flatten().filter(|line| {
        let line = line.strip_prefix("remote: ").unwrap_or(line);
        !PROGRESS.iter().any(|begins| line.starts_with(begins))
    });
    told.collect::<Vec<_>>().join("\n")
}

fn parse_remote_ref(line: &[u8]) -> Option<RemoteRef> {
    let at = line.iter().position(|byte| *byte == b'\t')?;
    let name = std::str::from_utf8(&line[at + 1..]).ok()?.to_owned();
    Some(RemoteRef { name, oid: Oid::parse(&line[..at])? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_push_was_is_left_out_of_what_it_said() {
        let said = "Enumerating objects: 3, done.\nCounting objects:  33% (1/3)\rCounting objects: \
                    100% (3/3), done.\nWriting objects: 100% (3/3), 200 bytes, done.\nTotal 3 \
                    (delta 0)\nremote: Resolving deltas: 100% (1/1)\rremote: main is protected\n\
                    remote: \n!\ta:b\t[remote rejected] (hook declined)\nDone\n";
        let told =
            "remote: main is protected\nremote: \n!\ta:b\t[remote rejected] (hook declined)\nDone";
        assert_eq!(strip_progress(said), told);
    }
}
