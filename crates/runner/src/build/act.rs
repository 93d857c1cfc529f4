//! Irreversible actions of a build, and how each is looked up: those of git here, the others where
//! calls are made.

use std::sync::Arc;

use unstuck_core::engine::Outcome;
use unstuck_core::fault::{Fault, GitOperation, Kind, Missing};
use unstuck_core::plan::MutationKind;
use unstuck_world::git::Oid;
use unstuck_world::workspace::{Landed, Project, Workspace};

use super::world::{Shared, failed};
use crate::world::Order;

/// The result of a merge that had nothing to bring: the task changed no file.
pub const NOTHING_MERGED: &str = "nothing changed";

impl Shared {
    /// Performs the action of an order.
    pub(super) async fn act(&self, order: &Order) -> Outcome {
        let done = match kind(order) {
            Some(MutationKind::Merge) => self.merge(order).await,
            Some(MutationKind::Push) => self.push(order).await,
            Some(MutationKind::PullRequest | MutationKind::Http | MutationKind::Command) | None => {
                self.call(order).await
            }
        };
        done.unwrap_or_else(failed)
    }

    /// Finds out whether the action of an order happened.
    pub(super) async fn look_up(&self, order: &Order) -> Outcome {
        let found = match kind(order) {
            Some(MutationKind::Merge) => self.is_merged(order).await,
            Some(MutationKind::Push) => self.is_pushed(order).await.map(found),
            Some(MutationKind::PullRequest | MutationKind::Http | MutationKind::Command) | None => {
                self.look_up_call(order).await
            }
        };
        // It was not looked up at all: that can be tried again.
        found.unwrap_or_else(failed)
    }

    /// Moves the build's branch. Whoever holds the merge lock is the only one of us who does; if
    /// somebody else moved it, the work is brought onto the new head first.
    async fn merge(&self, order: &Order) -> Result<Outcome, Fault> {
        let workspace = self.workspace(order).await?;
        let commit = workspace.commit_made().await?;
        let base = workspace.base().await?;
        if commit != base {
            self.pass_before_request(order, &workspace).await?;
        }
        let brought = brought(&commit, &base);
        match workspace.fast_forward(&commit).await? {
            Landed::Done => Ok(brought),
            Landed::HeadMoved { .. } => Ok(Outcome::HeadMoved),
            Landed::InUse { by } => {
                let message = format!("the build's branch is checked out in {}", by.display());
                let what = "the build's branch, not checked out anywhere".to_owned();
                Err(Fault::precondition_missing("git.merge", message, Missing { what }))
            }
        }
    }

    async fn is_merged(&self, order: &Order) -> Result<Outcome, Fault> {
        let workspace = self.workspace(order).await?;
        let commit = workspace.commit_made().await?;
        let settings = &self.settings;
        let head = settings.project.build_head(order.build, &settings.start).await?;
        let merged = settings.project.git().is_ancestor(&commit, &head).await?;
        if !merged {
            return Ok(Outcome::NotApplied);
        }
        Ok(brought(&commit, &workspace.base().await?))
    }

    /// Where a pull request is opened for the build, what lands is what it will hold: a check that
    /// is red before it goes back to the agent, like any other.
    async fn pass_before_request(&self, order: &Order, workspace: &Workspace) -> Result<(), Fault> {
        if !self.settings.pull_request || self.settings.in_place {
            return Ok(());
        }
        let task = self.task(order)?;
        self.pass(order, task, &task.gates.pre_pr, workspace).await
    }

    /// Sends the build's branch. What went wrong on the way says nothing about whether it arrived.
    async fn push(&self, order: &Order) -> Result<Outcome, Fault> {
        let (task, workspace) = (self.task(order)?, self.workspace(order).await?);
        self.pass(order, task, &task.gates.pre_push, &workspace).await?;
        let commit = workspace.commit_made().await?;
        let remote = self.remote()?;
        let branch = Project::branch(order.build);
        let shell = self.shell(order);
        workspace.pass_push_hook(remote, &commit, &branch, &shell).await?;
        let git = self.settings.project.git().with_patience(shell.timeout);
        let git = git.kept_by(shell.guard, shell.lock);
        match git.push(remote, &commit, &branch).await {
            Ok(()) => Ok(applied(&commit)),
            // The answer may have been lost on its way back: it is looked up.
            Err(fault) => {
                let fault = Arc::new(not_pushed(fault, remote, &branch));
                Ok(Outcome::Unknown { fault })
            }
        }
    }

    async fn is_pushed(&self, order: &Order) -> Result<Option<Oid>, Fault> {
        let commit = self.workspace(order).await?.commit_made().await?;
        let git = self.settings.project.git().with_patience(self.settings.command_timeout);
        let there = git.ls_remote(self.remote()?, &Project::branch(order.build)).await?;
        // Another task of the build may have pushed since.
        let arrived = match &there {
            Some(head) if *head == commit => true,
            Some(head) => git.is_ancestor(&commit, head).await?,
            None => false,
        };
        Ok(arrived.then_some(commit))
    }

    fn remote(&self) -> Result<&str, Fault> {
        self.settings.remote.as_deref().ok_or_else(|| {
            let what = "a remote to push to".to_owned();
            Fault::precondition_missing("git.push", "no remote is set", Missing { what })
        })
    }
}

fn kind(order: &Order) -> Option<MutationKind> {
    order.mutation.as_ref().map(|mutation| mutation.spec.kind)
}

/// What a merge brought onto the branch.
fn brought(commit: &Oid, base: &Oid) -> Outcome {
    if commit == base {
        Outcome::Applied { result: NOTHING_MERGED.into() }
    } else {
        applied(commit)
    }
}

/// Whatever kept a push from arriving, the work is done without it.
fn not_pushed(fault: Fault, remote: &str, branch: &str) -> Fault {
    let exit = match &fault.kind {
        Kind::GitPushFailed(known) => known.exit,
        _ => None,
    };
    let (operation, reference) = ("push".to_owned(), Some(branch.to_owned()));
    let context = GitOperation { operation, exit, reference, remote: Some(remote.to_owned()) };
    Fault::git_push_failed("git.push", fault.message, context)
}

fn applied(commit: &Oid) -> Outcome {
    Outcome::Applied { result: commit.to_string().into() }
}

fn found(commit: Option<Oid>) -> Outcome {
    commit.map_or(Outcome::NotApplied, |commit| applied(&commit))
}
