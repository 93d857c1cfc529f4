//! The performing of a repair, from the agent's worktree to its use.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Outcome, Start};
use unstuck_core::fault::{Code, Fault, NoProgress};
use unstuck_core::policy::Amount;
use unstuck_store::Store;
use unstuck_world::git::Oid;
use unstuck_world::workspace::{Removed, Workspace};

use super::note::{Made, Note, Notes};
use super::propose::propose;
use super::settings::RepairSettings;
use super::take::{Taken, take};
use super::{rights, words};
use crate::build::{Onto, Shared, failed};
use crate::clock::Clock;
use crate::decider::Decider;
use crate::world::{Order, Report};

/// Maximum number of times that a repair is brought onto a head that has moved.
const MOVES_MAX: u32 = 5;

/// The worker that lets an agent repair the script of a job.
pub struct Repairer {
    shared: Shared,
    notes: Notes,
    command: String,
}

impl Repairer {
    /// Creates the worker for the decisions of `decider` about the project `project_name` in
    /// `store`.
    pub fn new(
        settings: RepairSettings,
        decider: Arc<dyn Decider>,
        store: Arc<dyn Store>,
        project_name: impl Into<String>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let RepairSettings { work, command } = settings;
        Self {
            notes: Notes::new(&work.runs),
            shared: Shared::new(work, Onto::Checkout, decider, store, project_name.into(), clock),
            command,
        }
    }

    /// Performs a repair to its end; `None` if it is stopped before.
    pub(crate) async fn perform(
        &self,
        order: &Order,
        only_propose: bool,
        stop: &CancellationToken,
    ) -> Option<Report> {
        self.shared.alone(order, Box::pin(self.repair(order, only_propose, stop)), stop).await
    }

    async fn repair(
        &self,
        order: &Order,
        only_propose: bool,
        stop: &CancellationToken,
    ) -> Option<Report> {
        let note = self.notes.read(order);
        let start = if note.is_some() { Start::Resume } else { Start::Fresh };
        let (made, spent) = match note.and_then(|note| note.made) {
            Some(made) => (made, Amount::ZERO),
            None => match Box::pin(self.make(order, start, stop)).await? {
                Ok(done) => done,
                Err(report) => return Some(*report),
            },
        };
        let approach = Arc::clone(&made.approach);
        let used = Box::pin(self.put_to_use(order, made, only_propose));
        let used = stop.run_until_cancelled(used).await?;
        let outcome = match used {
            Ok(branch) => Outcome::Repaired { approach, branch: branch.map(Arc::from) },
            Err(fault) => self.unfit(order, fault, approach),
        };
        Some(Report { outcome, spent })
    }

    /// Lets an agent work, checks its work, and commits it.
    async fn make(
        &self,
        order: &Order,
        start: Start,
        stop: &CancellationToken,
    ) -> Option<Result<(Made, Amount), Box<Report>>> {
        if let Err(fault) = self.notes.write(order.effect.task, &Note::of(order)) {
            return Some(Err(Box::new(failed(fault).into())));
        }
        let told = words::for_agent(order, &self.command, start);
        let Report { outcome, spent } = self.shared.attempt(&told, start, stop).await?;
        let approach = match outcome {
            Outcome::Attempted { approach } => approach,
            outcome => return Some(Err(Box::new(Report { outcome, spent }))),
        };
        let proved = Box::pin(self.prove(order, &approach));
        let outcome = match stop.run_until_cancelled(proved).await? {
            Ok(commit) => return Some(Ok((Made::new(&commit, approach), spent))),
            Err(fault) => self.unfit(order, fault, approach),
        };
        Some(Err(Box::new(Report { outcome, spent })))
    }

    /// Checks the allowed paths, runs the checks, and commits.
    async fn prove(&self, order: &Order, approach: &Arc<Approach>) -> Result<Oid, Fault> {
        let workspace = self.shared.workspace(order).await?;
        self.fence(order, &workspace).await?;
        if workspace.changes().await?.is_empty() {
            let message = "the repair changed nothing".to_owned();
            return Err(Fault::logic_no_progress("repair", message, NoProgress::default()));
        }
        self.check_and_commit(order, approach, &workspace).await
    }

    /// Checks the allowed paths, and then the file modes, which no setting can allow to change.
    async fn fence(&self, order: &Order, workspace: &Workspace) -> Result<(), Fault> {
        self.shared.fence(order, self.shared.task(order)?, workspace).await?;
        let gained = rights::gained(&workspace.differences().await?);
        if gained.is_empty() {
            return Ok(());
        }
        let run = order.effect.run;
        let now = self.shared.clock.now();
        let taken = workspace.take_back(&gained, run, now).await?;
        Err(rights::fault(&gained, &taken.patch))
    }

    async fn check_and_commit(
        &self,
        order: &Order,
        approach: &Arc<Approach>,
        workspace: &Workspace,
    ) -> Result<Oid, Fault> {
        self.shared.try_check(order).await?;
        let message = words::message(order, approach);
        let message = self.shared.settings.redactor.text(&message).into_owned();
        self.shared.commit_as(order, message, workspace).await?;
        let commit = workspace.commit_made().await?;
        if commit == workspace.base().await? {
            let message = "nothing is left of the repair".to_owned();
            return Err(Fault::logic_no_progress("repair", message, NoProgress::default()));
        }
        let note = Note::of(order).with(Made::new(&commit, Arc::clone(approach)));
        self.notes.write(order.effect.task, &note)?;
        Ok(commit)
    }

    /// Merges the repair into the checkout, or proposes it; returns the branch of a proposal.
    async fn put_to_use(
        &self,
        order: &Order,
        made: Made,
        only_propose: bool,
    ) -> Result<Option<String>, Fault> {
        let git = self.shared.settings.project.git();
        let gone =
            || Fault::logic_no_progress("repair", "its commit is gone", NoProgress::default());
        let mut commit = made.commit().ok_or_else(gone)?;
        let mut moves = 0;
        let branch = loop {
            if only_propose || moves == MOVES_MAX {
                break Some(propose(git, order, &commit).await?);
            }
            match take(git, &commit).await? {
                Taken::Done => break None,
                Taken::InTheWay => break Some(propose(git, order, &commit).await?),
                Taken::HeadMoved => {
                    moves += 1;
                    // Without its worktree, which a kill may have left half removed, the commit is
                    // proposed unchanged.
                    let Ok(workspace) = self.shared.workspace(order).await else {
                        break Some(propose(git, order, &commit).await?);
                    };
                    commit = self.check_and_commit(order, &made.approach, &workspace).await?;
                }
            }
        };
        self.put_away(order, &commit).await;
        Ok(branch)
    }

    /// Removes the worktree, which is not needed any more because its commit is elsewhere.
    async fn put_away(&self, order: &Order, commit: &Oid) {
        let removed = match self.shared.workspace(order).await {
            Ok(workspace) => workspace.remove_from(order.effect.run, commit).await,
            Err(fault) => Err(fault),
        };
        match removed {
            Ok(Removed::Gone) => {}
            Ok(Removed::Kept(why)) => tracing::debug!(?why, "the worktree of a repair stays"),
            // The repair is made; the rest is cleaned up later.
            Err(fault) => tracing::debug!(%fault, "a worktree could not be removed"),
        }
    }

    /// Returns the outcome of a repair that failed, with its approach.
    fn unfit(&self, order: &Order, fault: Fault, approach: Arc<Approach>) -> Outcome {
        // The next attempt must not continue in a worktree that was set aside.
        if fault.code() == Code::GitRevertFailed {
            self.notes.forget(order.effect.task);
        }
        Outcome::Failed { fault: Arc::new(fault), approach: Some(approach) }
    }
}

impl std::fmt::Debug for Repairer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repairer").field("command", &self.command).finish_non_exhaustive()
    }
}
