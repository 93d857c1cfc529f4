//! Commits the checked content of a worktree.

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::changes::WorktreeContent;
use super::hooks::GitHook;
use super::shell::Shell;
use super::workspace::Workspace;
use crate::git::{CommitAuthor, HookSources, NewCommit, Oid};

/// The message, author and time of a commit.
#[derive(Clone, Debug)]
pub struct CommitWording {
    /// The commit message, before hooks change it.
    pub message: String,
    /// The author and committer.
    pub person: CommitAuthor,
    /// The time of the commit.
    pub at: Time,
}

/// The outcome of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// There is nothing to commit: the worktree equals its base.
    Nothing,
    /// The task's branch is at this commit, whose parent is the base.
    As {
        /// The hash of the commit.
        commit: Oid,
        /// `true` if a hook changed the content, so that it differs from the checked one.
        by_hook: bool,
    },
}

impl Workspace {
    /// Commits the whole change as one commit on the base, and runs the repository's hooks. The
    /// content of the agent's own commits is part of it; the commits are not its ancestors. A
    /// repeated call makes the same commit.
    pub async fn commit_content(
        &self,
        content: &WorktreeContent,
        wording: &CommitWording,
        shell: &Shell,
    ) -> Result<CommitOutcome, Fault> {
        let WorktreeContent { base, tree: checked } = content;
        if *checked == self.resolve_tree(base).await? {
            // Commits of the agent that cancel each other out are dropped.
            self.point_branch(base, base).await?;
            return Ok(CommitOutcome::Nothing);
        }
        let hooks = self.find_hooks().await?;
        if GitHook::OF_COMMIT.iter().any(|hook| hooks.may_have(hook.name())) {
            // Checks have run the agent's code since its attempt.
            self.clean_private().await?;
        }
        self.position_agent_at(base)?;
        let tree = self.run_pre_commit((base, checked), &hooks, shell).await?;
        let message = self.pass_message_hooks(&wording.message, &hooks, shell).await?;
        let new = NewCommit {
            tree: &tree,
            parents: std::slice::from_ref(base),
            message: &message,
            person: &wording.person,
            at: wording.at,
            signed: true,
        };
        let commit = self.git.create_commit(new).await?;
        self.point_branch(base, &commit).await?;
        // The commit is made, so the outcome of this hook does not matter.
        let _ = self.run_commit_hook(GitHook::PostCommit, &hooks, shell).await;
        Ok(CommitOutcome::As { commit, by_hook: tree != *checked })
    }

    /// Returns the commit that [`commit`](Self::commit_content) made, or the base if there was nothing to
    /// commit.
    pub async fn find_commit_made(&self) -> Result<Oid, Fault> {
        let base = self.resolve_base().await?;
        if self.in_place {
            return self.find_commit_in_place(base).await;
        }
        let made = self.git.resolve_commit(&self.branch).await?;
        Ok(made.unwrap_or(base))
    }

    /// Returns the tree as the pre-commit hook leaves it.
    async fn run_pre_commit(
        &self,
        (base, tree): (&Oid, &Oid),
        hooks: &HookSources,
        shell: &Shell,
    ) -> Result<Oid, Fault> {
        if !hooks.may_have(GitHook::PreCommit.name()) {
            return Ok(tree.clone());
        }
        self.run_commit_hook(GitHook::PreCommit, hooks, shell).await?;
        self.write_hook_tree(base, shell).await
    }
}
