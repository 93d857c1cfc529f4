//! The performing of a repair, from the agent's worktree to its use. A repair must not turn a file
//! into a program, a link or a repository of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{EffectOutcome, Start};
use unstuck_core::fault::{Code, Fault, Files, NoProgress};
use unstuck_core::policy::Amount;
use unstuck_store::Store;
use unstuck_world::git::raw::TreeDifference;
use unstuck_world::git::{GitFileMode, Oid};
use unstuck_world::workspace::{RemovalOutcome, Workspace};

use super::landing::{CheckoutMergeResult, fast_forward_checkout, propose_on_branch};
use super::note::{CommittedRepair, RepairNote, RepairNotes};
use super::wording;
use crate::build::{BuildContext, BuildSettings, MergeTarget};
use crate::decider::Decider;
use crate::effects::{EffectRequest, EffectResult, failed_outcome};
use crate::event_loop::Clock;

/// Maximum number of times that a repair is brought onto a head that has moved.
const MOVES_MAX: u32 = 5;

/// The settings for the repairs of one job.
#[derive(Clone, Debug)]
pub struct RepairSettings {
    /// The repository, with the job as its one task: the worker, the allowed paths, the checks.
    pub work: BuildSettings,
    /// The command that the job runs, as an operator would type it.
    pub command: String,
}

/// The worker that lets an agent repair the script of a job.
pub struct ScriptRepairer {
    shared: BuildContext,
    notes: RepairNotes,
    command: String,
}

impl ScriptRepairer {
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
            notes: RepairNotes::new(&work.runs),
            shared: BuildContext::new(
                work,
                MergeTarget::Checkout,
                decider,
                store,
                project_name.into(),
                clock,
            ),
            command,
        }
    }

    /// Performs a repair to its end; `None` if it is stopped before.
    pub(crate) async fn perform_repair(
        &self,
        order: &EffectRequest,
        only_propose: bool,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        self.shared
            .with_worktree_lock(order, Box::pin(self.try_repair(order, only_propose, stop)), stop)
            .await
    }

    async fn try_repair(
        &self,
        order: &EffectRequest,
        only_propose: bool,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let note = self.notes.read_note(order);
        let start = if note.is_some() { Start::Resume } else { Start::Fresh };
        let (made, spent) = match note.and_then(|note| note.made) {
            Some(made) => (made, Amount::ZERO),
            None => match Box::pin(self.make_repair(order, start, stop)).await? {
                Ok(done) => done,
                Err(report) => return Some(*report),
            },
        };
        let approach = Arc::clone(&made.approach);
        let used = Box::pin(self.merge_or_propose(order, made, only_propose));
        let used = stop.run_until_cancelled(used).await?;
        let outcome = match used {
            Ok(branch) => EffectOutcome::Repaired { approach, branch: branch.map(Arc::from) },
            Err(fault) => self.failed_repair(order, fault, approach),
        };
        Some(EffectResult::new(outcome, spent))
    }

    /// Lets an agent work, checks its work, and commits it.
    async fn make_repair(
        &self,
        order: &EffectRequest,
        start: Start,
        stop: &CancellationToken,
    ) -> Option<Result<(CommittedRepair, Amount), Box<EffectResult>>> {
        if let Err(fault) =
            self.notes.write_note(order.effect.task, &RepairNote::from_request(order))
        {
            return Some(Err(Box::new(failed_outcome(fault).into())));
        }
        let told = wording::make_agent_request(order, &self.command, start);
        let EffectResult { outcome, spent, .. } =
            self.shared.perform_attempt(&told, start, stop).await?;
        let approach = match outcome {
            EffectOutcome::Attempted { approach } => approach,
            outcome => return Some(Err(Box::new(EffectResult::new(outcome, spent)))),
        };
        let proved = Box::pin(self.check_repair(order, &approach));
        let outcome = match stop.run_until_cancelled(proved).await? {
            Ok(commit) => return Some(Ok((CommittedRepair::new(&commit, approach), spent))),
            Err(fault) => self.failed_repair(order, fault, approach),
        };
        Some(Err(Box::new(EffectResult::new(outcome, spent))))
    }

    /// Checks the allowed paths, runs the checks, and commits.
    async fn check_repair(
        &self,
        order: &EffectRequest,
        approach: &Arc<Approach>,
    ) -> Result<Oid, Fault> {
        let workspace = self.shared.open_workspace(order).await?;
        self.enforce_paths(order, &workspace).await?;
        if workspace.list_changes().await?.is_empty() {
            // The agent of another job that changes nothing has another problem.
            let source = format!("repair:{}", order.task.name);
            let message = "the repair changed nothing".to_owned();
            return Err(Fault::logic_no_progress(source, message, NoProgress::default()));
        }
        self.check_and_commit(order, approach, &workspace).await
    }

    /// Checks the allowed paths, and then the file modes, which no setting can allow to change.
    async fn enforce_paths(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        self.shared.enforce_scope(order, self.shared.task_settings(order)?, workspace).await?;
        let gained = find_gained_modes(&workspace.list_differences().await?);
        if gained.is_empty() {
            return Ok(());
        }
        let run = order.effect.run;
        let now = self.shared.clock.now();
        let taken = workspace.revert_paths(&gained, run, now).await?;
        Err(gained_modes_fault(&gained, &taken.patch))
    }

    async fn check_and_commit(
        &self,
        order: &EffectRequest,
        approach: &Arc<Approach>,
        workspace: &Workspace,
    ) -> Result<Oid, Fault> {
        self.shared.try_check(order).await?;
        let message = wording::render_repair_message(order, approach);
        let message = self.shared.settings.redactor.redact_text(&message).into_owned();
        self.shared.commit_with_message(order, message, workspace).await?;
        let commit = workspace.find_commit_made().await?;
        if commit == workspace.resolve_base().await? {
            let message = "nothing is left of the repair".to_owned();
            return Err(Fault::logic_no_progress("repair", message, NoProgress::default()));
        }
        let note = RepairNote::from_request(order)
            .with_commit(CommittedRepair::new(&commit, Arc::clone(approach)));
        self.notes.write_note(order.effect.task, &note)?;
        Ok(commit)
    }

    /// Merges the repair into the checkout, or proposes it; returns the branch of a proposal.
    async fn merge_or_propose(
        &self,
        order: &EffectRequest,
        made: CommittedRepair,
        only_propose: bool,
    ) -> Result<Option<String>, Fault> {
        let git = self.shared.settings.project.git();
        let gone =
            || Fault::logic_no_progress("repair", "its commit is gone", NoProgress::default());
        let mut commit = made.commit_oid().ok_or_else(gone)?;
        let mut moves = 0;
        let branch = loop {
            if only_propose || moves == MOVES_MAX {
                break Some(propose_on_branch(git, order, &commit).await?);
            }
            match fast_forward_checkout(git, &commit).await? {
                CheckoutMergeResult::Done => break None,
                CheckoutMergeResult::InTheWay => {
                    break Some(propose_on_branch(git, order, &commit).await?);
                }
                CheckoutMergeResult::HeadMoved => {
                    moves += 1;
                    // Without its worktree, which a kill may have left half removed, the commit is
                    // proposed unchanged.
                    let Ok(workspace) = self.shared.open_workspace(order).await else {
                        break Some(propose_on_branch(git, order, &commit).await?);
                    };
                    commit = self.check_and_commit(order, &made.approach, &workspace).await?;
                }
            }
        };
        self.remove_worktree(order, &commit).await;
        Ok(branch)
    }

    /// Removes the worktree, which is not needed any more because its commit is elsewhere.
    async fn remove_worktree(&self, order: &EffectRequest, commit: &Oid) {
        let removed = match self.shared.open_workspace(order).await {
            Ok(workspace) => workspace.remove_without_build(order.effect.run, commit).await,
            Err(fault) => Err(fault),
        };
        match removed {
            Ok(RemovalOutcome::Gone) => {}
            Ok(RemovalOutcome::Kept(why)) => {
                tracing::debug!(?why, "the worktree of a repair stays");
            }
            // The repair is made; the rest is cleaned up later.
            Err(fault) => tracing::debug!(%fault, "a worktree could not be removed"),
        }
    }

    /// Returns the outcome of a repair that failed, with its approach.
    fn failed_repair(
        &self,
        order: &EffectRequest,
        fault: Fault,
        approach: Arc<Approach>,
    ) -> EffectOutcome {
        // The next attempt must not continue in a worktree that was set aside.
        if fault.code() == Code::GitRevertFailed {
            self.notes.delete_note(order.effect.task);
        }
        EffectOutcome::Failed { fault: Arc::new(fault), approach: Some(approach) }
    }
}

impl std::fmt::Debug for ScriptRepairer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repairer").field("command", &self.command).finish_non_exhaustive()
    }
}

/// Returns the paths to which a change gives such a mode.
fn find_gained_modes(differences: &[TreeDifference]) -> Vec<PathBuf> {
    let gains = |of: &&TreeDifference| match of.new {
        GitFileMode::Absent | GitFileMode::File => false,
        GitFileMode::Executable
        | GitFileMode::Link
        | GitFileMode::Submodule
        | GitFileMode::Other(_) => of.old != of.new,
    };
    differences.iter().filter(gains).map(|of| of.path.clone()).collect()
}

/// Returns the fault about these paths, with the patch that keeps the change that was taken back.
fn gained_modes_fault(paths: &[PathBuf], patch: &Path) -> Fault {
    let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let message = format!("a repair must not make these programs or links: {}", files.join(", "));
    let patch = Some(patch.display().to_string());
    Fault::scope_forbidden("repair", message, Files { files, patch })
}

#[cfg(test)]
mod tests {
    use unstuck_world::git::DifferenceKind;

    use super::*;

    #[test]
    fn only_what_becomes_more_than_it_was_is_named() {
        let table = [
            (GitFileMode::File, GitFileMode::File, false),
            (GitFileMode::Absent, GitFileMode::File, false),
            (GitFileMode::Executable, GitFileMode::Executable, false),
            (GitFileMode::Executable, GitFileMode::File, false),
            (GitFileMode::File, GitFileMode::Absent, false),
            (GitFileMode::File, GitFileMode::Executable, true),
            (GitFileMode::Absent, GitFileMode::Executable, true),
            (GitFileMode::File, GitFileMode::Link, true),
            (GitFileMode::Link, GitFileMode::Link, false),
            (GitFileMode::Absent, GitFileMode::Submodule, true),
            (GitFileMode::File, GitFileMode::Other(0o100_600), true),
        ];
        for (old, new, named) in table {
            let of = TreeDifference {
                path: "a".into(),
                from: None,
                what: DifferenceKind::Modified,
                old,
                new,
            };
            assert_eq!(!find_gained_modes(&[of]).is_empty(), named, "{old:?} to {new:?}");
        }
    }
}
