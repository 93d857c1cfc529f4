//! What an agent's processes get from its worktree, and what is put back after them.
//!
//! Pushing is refused through settings in the agent's environment, which git puts above all files:
//! every remote is rewritten, for pushing only, to an address that no transport knows. The person's
//! settings stay as they are, and fetching works. An agent that clears its environment gets past
//! this; that it has no credentials, and that `git` is shimmed, is for others to see to.

use std::ffi::OsString;
use std::path::PathBuf;

use unstuck_core::engine::RunId;
use unstuck_core::fault::{Fault, Validation};

use super::names::address;
use super::state::failed;
use super::workspace::Workspace;
use crate::git::{Oid, Restored, Snapshot};
use crate::process::Fence;

/// No transport of git's goes by this name, and the message that git prints then is a pointer.
const REFUSED: &str = "pushing-is-refused-here-use-unstuck-mutate:";
const BEFORE: &str = "before";
/// Where git keeps what was stashed.
const STASH: &str = "refs/stash";
/// Where programs put what they need for a moment, beside what `TMPDIR` says.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// What git changes in the repository when somebody commits in a worktree. Settings and hooks are
/// not among it.
const COMMITTING: [&str; 3] = ["objects", "refs", "logs"];

impl Workspace {
    /// Changes to the environment of everything that the agent runs.
    pub async fn environment(
        &self,
        run: RunId,
    ) -> Result<Vec<(OsString, Option<OsString>)>, Fault> {
        let (urls, push_urls) = self.project.git.remote_urls().await?;
        // The longest rewrite wins, and a whole address is the longest there is.
        let mut settings = vec![(format!("url.{REFUSED}.pushInsteadOf"), String::new())];
        for url in urls {
            settings.push((format!("url.{REFUSED}.pushInsteadOf"), url));
        }
        for url in push_urls {
            settings.push((format!("url.{REFUSED}.insteadOf"), url));
        }
        let mut variables = vec![
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
            ("GIT_AUTHOR_NAME".to_owned(), "agent".to_owned()),
            ("GIT_AUTHOR_EMAIL".to_owned(), address(run)),
            ("GIT_COMMITTER_NAME".to_owned(), "agent".to_owned()),
            ("GIT_COMMITTER_EMAIL".to_owned(), address(run)),
            ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()),
        ];
        for (n, (name, value)) in settings.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{n}"), name));
            variables.push((format!("GIT_CONFIG_VALUE_{n}"), value));
        }
        Ok(variables.into_iter().map(|(name, value)| (name.into(), Some(value.into()))).collect())
    }

    /// What the agent's processes are kept from: they write below the worktree, below folders that it
    /// shares, to where git keeps commits, and to places for temporary files.
    pub fn fence(&self, environment: &[(OsString, OsString)]) -> Fence {
        let common = &self.project.layout.common_dir;
        let shared = self.shared.iter().map(|path| self.project.root.join(path));
        let named = environment.iter().filter(|(name, _)| name == "TMPDIR");
        let writable = [self.directory.clone(), self.git_dir.clone()]
            .into_iter()
            .chain(COMMITTING.map(|name| common.join(name)))
            .chain(shared.filter(|path| path.is_dir()))
            .chain(named.map(|(_, value)| PathBuf::from(value)))
            .chain(TEMPORARY.map(PathBuf::from));
        Fence { writable: Some(writable.collect()), tcp_refused: false }
    }

    /// Notes what all worktrees share, before an attempt.
    pub(super) async fn note_shared(&self) -> Result<(), Fault> {
        let before = Snapshot::take(&self.project.git, &self.project.layout.common_dir).await?;
        let bytes = serde_json::to_vec(&before)
            .map_err(|error| failed(&self.state.kept(), &std::io::Error::from(error)))?;
        self.state.write(BEFORE, &bytes).map(drop)
    }

    /// Puts settings, hooks and refs outside the task back as they were before the attempt. This
    /// comes first after an attempt: settings decide what every other git command runs.
    pub async fn restore_shared(&self, run: RunId) -> Result<Restored, Fault> {
        let Some(bytes) = self.state.read(BEFORE)? else { return Ok(Restored::default()) };
        let before: Snapshot = serde_json::from_slice(&bytes)
            .map_err(|error| failed(&self.state.kept(), &std::io::Error::from(error)))?;
        let keep = self.state.kept().join(run.to_string());
        let (git, common) = (&self.project.git, &self.project.layout.common_dir);
        // The person's own branch is no agent's to move.
        let own = if self.in_place { &[][..] } else { &[self.branch.as_str()][..] };
        let restored = before.restore(git, common, &address(run), own, &keep).await?;
        self.state.forget(BEFORE)?;
        Ok(restored)
    }

    /// Finds commits that the agent left on a branch, or in the stash, while the worktree is as it
    /// found it. That is no attempt without a change: the agent is told where its work is.
    pub async fn find_work_elsewhere(&self, restored: &Restored) -> Result<Option<Fault>, Fault> {
        if let Some(fault) = self.find_work_in_submodules().await? {
            return Ok(Some(fault));
        }
        if restored.stood_at.is_empty() || !self.changes().await?.is_empty() {
            return Ok(None);
        }
        let base = self.base().await?;
        let known = self.tree_of(&base).await?;
        for (name, commit) in &restored.stood_at {
            let kept = name.starts_with("refs/heads/") || name == STASH;
            if !kept || self.git.is_ancestor(commit, &base).await? {
                continue;
            }
            if self.git.tree_of(commit.as_str()).await?.is_some_and(|tree| tree != known) {
                return Ok(Some(elsewhere(name, commit)));
            }
        }
        Ok(None)
    }
}

/// The work is in the repository, and not where it is looked for.
fn elsewhere(name: &str, commit: &Oid) -> Fault {
    let place = match name.strip_prefix("refs/heads/") {
        Some(branch) => format!("on the branch {branch}"),
        None => "in the stash".to_owned(),
    };
    let message = format!("your work is {place}, not in the worktree");
    let output = format!(
        "The worktree is as you found it: your work is {place}, and only what is in the worktree \
         counts.\nBring it back: git checkout {commit} -- .\nThen stay on the branch that you \
         were given."
    );
    let context = Validation { command: "git status".to_owned(), exit: None, output };
    Fault::validation_pre_commit("workspace:elsewhere", message, context)
}
