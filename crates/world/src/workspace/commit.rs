//! Committing what was checked.

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::changes::Content;
use super::hooks::Hook;
use super::shell::Shell;
use super::workspace::Workspace;
use crate::git::{Hooks, NewCommit, Oid, Person};

/// The words of a commit and whose they are.
#[derive(Clone, Debug)]
pub struct Wording {
    /// Its message.
    pub message: String,
    /// Who it is by.
    pub person: Person,
    /// When.
    pub at: Time,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// There is nothing to commit: the worktree is as its base.
    Nothing,
    /// The task's branch is at this commit, whose parent is the base.
    As {
        /// The commit.
        commit: Oid,
        /// Whether a hook changed what is committed, so that it is not what was checked.
        by_hook: bool,
    },
}

impl Workspace {
    /// Commits the whole change as one commit on the base, with the repository's hooks. The agent's
    /// own commits are in it and not behind it. Doing it twice gives the same commit.
    pub async fn commit(
        &self,
        content: &Content,
        wording: &Wording,
        shell: &Shell,
    ) -> Result<Committed, Fault> {
        let Content { base, tree: checked } = content;
        if *checked == self.tree_of(base).await? {
            // Whatever the agent committed on the way there and back is nobody's.
            self.point_branch(base, base).await?;
            return Ok(Committed::Nothing);
        }
        let hooks = self.hooks().await?;
        if Hook::OF_COMMIT.iter().any(|hook| hooks.may_have(hook.name())) {
            // Checks have run code of the agent's since its attempt.
            self.clean_private().await?;
        }
        self.stand_at(base)?;
        let tree = self.past_hook((base, checked), &hooks, shell).await?;
        let message = self.pass_message_hooks(&wording.message, &hooks, shell).await?;
        let new = NewCommit {
            tree: &tree,
            parents: std::slice::from_ref(base),
            message: &message,
            person: &wording.person,
            at: wording.at,
            signed: true,
        };
        let commit = self.git.make_commit(new).await?;
        self.point_branch(base, &commit).await?;
        // It may do what it likes; the commit is made.
        let _ = self.hook(Hook::PostCommit, &hooks, shell).await;
        Ok(Committed::As { commit, by_hook: tree != *checked })
    }

    /// The commit that [`commit`](Self::commit) made; the base where there was nothing to commit.
    pub async fn commit_made(&self) -> Result<Oid, Fault> {
        let base = self.base().await?;
        if self.in_place {
            return self.made_in_place(base).await;
        }
        let made = self.git.commit_of(&self.branch).await?;
        Ok(made.unwrap_or(base))
    }

    /// The tree as the hook leaves it.
    async fn past_hook(
        &self,
        (base, tree): (&Oid, &Oid),
        hooks: &Hooks,
        shell: &Shell,
    ) -> Result<Oid, Fault> {
        if !hooks.may_have(Hook::PreCommit.name()) {
            return Ok(tree.clone());
        }
        self.hook(Hook::PreCommit, hooks, shell).await?;
        self.tree_of_hook(base, shell).await
    }
}
