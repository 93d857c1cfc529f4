//! The parts that the effects of a build share, and the locks of its worktrees.
//!
//! A decision may end a run while its worker still cleans up, and the next run may begin at once.
//! It waits for the lock until the worktree is released.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{BuildId, Command, RunNote, TaskId};
use unstuck_core::fault::{Config, Fault};
use unstuck_core::signature::Signature;
use unstuck_store::Store;
use unstuck_world::commands::{CommandPolicy, CommandRules};
use unstuck_world::connector::Connector;
use unstuck_world::git::Oid;
use unstuck_world::workspace::{Shell, Workspace, WorkspaceKey};

use super::baseline::BuildBaselines;
use super::denials::AttemptDenials;
use super::settings::{BuildSettings, TaskSettings};
use crate::decider::{Decider, StateQuery, StateQueryResult};
use crate::effects::{EffectRequest, RunLocks, lock_unpoisoned};
use crate::event_loop::Clock;

/// The target that work is brought onto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeTarget {
    /// The branch of its build.
    Build,
    /// The operator's current checkout.
    Checkout,
}

/// The parts that are needed to perform an attempt and to judge its work.
pub(crate) struct BuildContext {
    pub(crate) settings: BuildSettings,
    onto: MergeTarget,
    pub(super) decider: Arc<dyn Decider>,
    pub(super) store: Arc<dyn Store>,
    pub(super) project_name: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(super) runs: RunLocks,
    pub(super) baselines: BuildBaselines,
    pub(super) denied: AttemptDenials,
    /// Tasks whose agent was told that it added a file that changes how the checks run.
    pub(super) told_first: Mutex<BTreeSet<TaskId>>,
    /// Tasks whose agent was told that fewer tests run.
    pub(super) told_fewer: Mutex<BTreeSet<TaskId>>,
    /// Tasks whose agent was told that its work takes back earlier commits.
    pub(super) told_undone: Mutex<BTreeSet<TaskId>>,
    /// The refusals of pre-push hooks that an agent was told about.
    pub(super) refused_pushes: Mutex<BTreeSet<(TaskId, Signature)>>,
    /// Builds in which it was said that an agent's cost is not known.
    pub(super) told_unpriced: Mutex<BTreeSet<BuildId>>,
    pub(super) walls_told: AtomicBool,
    /// Cancelled when no further effect is performed.
    pub(super) over: CancellationToken,
    pub(super) worktrees: TaskWorktreeLocks,
    connector: Result<Connector, Fault>,
}

impl BuildContext {
    pub(crate) fn new(
        settings: BuildSettings,
        onto: MergeTarget,
        decider: Arc<dyn Decider>,
        store: Arc<dyn Store>,
        project_name: String,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            runs: RunLocks::new(settings.runs.clone()),
            baselines: BuildBaselines::new(&settings.runs, &settings.start),
            denied: AttemptDenials::default(),
            told_first: Mutex::default(),
            told_fewer: Mutex::default(),
            told_undone: Mutex::default(),
            refused_pushes: Mutex::default(),
            told_unpriced: Mutex::default(),
            connector: Connector::new(settings.credentials.clone()),
            walls_told: AtomicBool::new(false),
            over: CancellationToken::new(),
            worktrees: TaskWorktreeLocks::default(),
            settings,
            onto,
            decider,
            store,
            project_name,
            clock,
        }
    }

    /// Returns the commit that the work is brought onto.
    pub(crate) async fn target_head(&self, order: &EffectRequest) -> Result<Oid, Fault> {
        let BuildSettings { project, start, .. } = &self.settings;
        match self.onto {
            MergeTarget::Build => project.ensure_build_head(order.build, start).await,
            MergeTarget::Checkout => project.resolve_head().await,
        }
    }

    pub(super) fn is_for_build(&self) -> bool {
        self.onto == MergeTarget::Build
    }

    /// Returns the settings of a task. One that the settings do not contain was renamed or removed
    /// meanwhile.
    pub(crate) fn task_settings(&self, order: &EffectRequest) -> Result<&TaskSettings, Fault> {
        self.settings.tasks.get(&order.task.name).ok_or_else(|| {
            let message = format!("there is no task {:?} any more", order.task.name);
            let config = Config { field: Some(order.task.name.clone()), ..Config::default() };
            Fault::config_missing("plan", message, config)
        })
    }

    pub(super) fn task_place(order: &EffectRequest) -> WorkspaceKey {
        WorkspaceKey { build: order.build, task: order.effect.task }
    }

    /// Opens the worktree of a task that an attempt has worked in.
    pub(crate) async fn open_workspace(&self, order: &EffectRequest) -> Result<Workspace, Fault> {
        let BuildSettings { project, share, .. } = &self.settings;
        Workspace::open(project, Self::task_place(order), share).await
    }

    /// Returns the connector to external services.
    pub(super) fn require_connector(&self) -> Result<&Connector, Fault> {
        self.connector.as_ref().map_err(Clone::clone)
    }

    /// Sends a remark about a task to the operator.
    pub(crate) async fn send_remark(&self, order: &EffectRequest, text: &str) {
        let text = self.settings.redactor.redact_text(text).into();
        let note = Command::Note { effect: order.effect.id, note: RunNote::Remarked { text } };
        if let Err(error) = self.decider.submit_command(note).await {
            tracing::debug!(%error, "no receiver for a remark");
        }
    }

    /// Returns the environment of agents and checks, without variables that lead from a worktree
    /// back into the operator's own working tree.
    pub(super) fn task_environment(&self, order: &EffectRequest) -> Vec<(OsString, OsString)> {
        let BuildSettings { project, environment, in_place, .. } = &self.settings;
        if *in_place {
            return environment.clone();
        }
        project.redirect_environment(Self::task_place(order), environment)
    }

    /// Returns the shell for commands of a task.
    pub(crate) fn task_shell(&self, order: &EffectRequest) -> Shell {
        let environment = self.task_environment(order).into_iter();
        Shell {
            guard: self.settings.guard.clone(),
            lock: self.runs.lock_path(order.effect.task, order.effect.run),
            inherits_environment: false,
            environment: environment.map(|(name, value)| (name, Some(value))).collect(),
            timeout: self.settings.command_timeout,
            wall: self.settings.wall.clone(),
        }
    }

    /// Returns the commands that the operator allowed the agents of a task in addition to the
    /// rules, without those on the denylist.
    pub(super) async fn allowed_commands(&self, order: &EffectRequest) -> BTreeSet<String> {
        let task = order.effect.task;
        match self.decider.query_state(StateQuery::AllowedCommands { task }).await {
            Ok(StateQueryResult::Commands(mut commands)) => {
                let list = self.command_denylist();
                commands.retain(|command| !list.is_never_allowed(command));
                commands
            }
            _ => BTreeSet::new(),
        }
    }

    /// Returns whether the holder answers a query with yes.
    pub(super) async fn is_confirmed(&self, query: StateQuery) -> bool {
        self.decider.query_state(query).await.is_ok_and(|seen| seen.is_yes())
    }

    /// Returns the denylist of commands, as the settings leave it.
    pub(super) fn command_denylist(&self) -> CommandPolicy {
        let BuildSettings { blocked, unlisted, .. } = &self.settings;
        CommandPolicy::new(&CommandRules {
            blocked: blocked.clone(),
            unlisted: unlisted.clone(),
            ..CommandRules::default()
        })
    }
}

/// The locks of the worktrees, by task.
#[derive(Debug, Default)]
pub(super) struct TaskWorktreeLocks(Mutex<BTreeMap<TaskId, Arc<tokio::sync::Mutex<()>>>>);

impl TaskWorktreeLocks {
    /// Waits for the lock of a task's worktree, which is held until the guard is dropped; `None` if
    /// cancelled.
    pub(super) async fn lock_worktree(
        &self,
        task: TaskId,
        stop: &CancellationToken,
    ) -> Option<OwnedMutexGuard<()>> {
        let turn = Arc::clone(lock_unpoisoned(&self.0).entry(task).or_default());
        stop.run_until_cancelled(turn.lock_owned()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_waits_for_the_last_and_for_nobody_else() {
        let worktrees = TaskWorktreeLocks::default();
        let never = CancellationToken::new();
        let held = worktrees.lock_worktree(TaskId(1), &never).await.unwrap();
        worktrees.lock_worktree(TaskId(2), &never).await.unwrap();
        let stopped = CancellationToken::new();
        stopped.cancel();
        assert!(worktrees.lock_worktree(TaskId(1), &stopped).await.is_none());
        drop(held);
        assert!(worktrees.lock_worktree(TaskId(1), &never).await.is_some());
    }
}
