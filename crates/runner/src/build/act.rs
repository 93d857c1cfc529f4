//! Irreversible actions of a build and their lookup: those of git in this module, the others in
//! `connect`.

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

    /// Looks up whether the action of an order happened.
    pub(super) async fn look_up(&self, order: &Order) -> Outcome {
        let found = match kind(order) {
            Some(MutationKind::Merge) => self.is_merged(order).await,
            Some(MutationKind::Push) => self.is_pushed(order).await.map(found),
            Some(MutationKind::PullRequest | MutationKind::Http | MutationKind::Command) | None => {
                self.look_up_call(order).await
            }
        };
        // The lookup itself failed, so it can be retried.
        found.unwrap_or_else(failed)
    }

    /// Moves the build's branch to the task's commit. The merge lock makes this worker the only one
    /// of the build to do so; if the branch was moved from outside, the work is brought onto the
    /// new head first.
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

    /// Runs the checks before the pull request that is opened for the build, because it will
    /// contain what lands now: a red check goes back to the agent, like any other.
    async fn pass_before_request(&self, order: &Order, workspace: &Workspace) -> Result<(), Fault> {
        if !self.settings.pull_request || self.settings.in_place {
            return Ok(());
        }
        let task = self.task(order)?;
        self.pass(order, task, &task.gates.pre_pr, workspace).await
    }

    /// Pushes the build's branch. A failure on the way says nothing about whether the push arrived.
    async fn push(&self, order: &Order) -> Result<Outcome, Fault> {
        let task = self.task(order)?;
        let workspace = self.workspace(order).await?;
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
            // The response may have been lost, so the push is looked up.
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

/// Returns the outcome of a merge: the commit, or [`NOTHING_MERGED`].
fn brought(commit: &Oid, base: &Oid) -> Outcome {
    if commit == base {
        Outcome::Applied { result: NOTHING_MERGED.into() }
    } else {
        applied(commit)
    }
}

/// Turns any fault of a push into `GitPushFailed`, because the work is done without the push.
fn not_pushed(fault: Fault, remote: &str, branch: &str) -> Fault {
    let exit = match &fault.kind {
        Kind::GitPushFailed(known) => known.exit,
        _ => None,
    };
    let operation = "push".to_owned();
    let reference = Some(branch.to_owned());
    let context = GitOperation { operation, exit, reference, remote: Some(remote.to_owned()) };
    Fault::git_push_failed("git.push", fault.message, context)
}

fn applied(commit: &Oid) -> Outcome {
    Outcome::Applied { result: commit.to_string().into() }
}

fn found(commit: Option<Oid>) -> Outcome {
    commit.map_or(Outcome::NotApplied, |commit| applied(&commit))
}
