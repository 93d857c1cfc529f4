//! The worker that performs the effects of a build.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, EffectId, EffectKind, EffectOutcome, RunNote, TaskId};
use unstuck_core::fault::{Config, Fault, Internal};
use unstuck_store::Store;
use unstuck_world::commands::CommandShims;
use unstuck_world::connector::Connector;
use unstuck_world::git::Oid;
use unstuck_world::mcp;
use unstuck_world::process::Wall;
use unstuck_world::workspace::{Shell, Workspace, WorkspaceKey};

use super::baseline::BuildBaselines;
use super::denied::AttemptDenials;
use super::one_at_a_time::TaskWorktreeLocks;
use super::redact;
use super::settings::{BuildSettings, TaskSettings};
use crate::decider::Decider;
use crate::effects::{EffectRequest, EffectResult, Performer, RunLocks, RunningEffects};
use crate::event_loop::Clock;

/// The target that work is brought onto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeTarget {
    /// The branch of its build.
    Build,
    /// The operator's current checkout.
    Checkout,
}

/// The worker of a build's effects. Clones share their state.
#[derive(Clone)]
pub struct BuildPerformer {
    shared: Arc<BuildContext>,
    /// Kept apart from `Shared`, which running effects own: they are aborted when the last clone is
    /// dropped.
    under_way: Arc<RunningEffects>,
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
    pub(super) walls_told: AtomicBool,
    /// Cancelled when no further effect is performed.
    over: CancellationToken,
    worktrees: TaskWorktreeLocks,
    connector: Result<Connector, Fault>,
}

impl BuildPerformer {
    /// Creates the worker for the decisions of `decider` about the project `project_name` in
    /// `store`.
    pub fn new(
        settings: BuildSettings,
        decider: Arc<dyn Decider>,
        store: Arc<dyn Store>,
        project_name: impl Into<String>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let shared = BuildContext::new(
            settings,
            MergeTarget::Build,
            decider,
            store,
            project_name.into(),
            clock,
        );
        Self { shared: Arc::new(shared), under_way: Arc::default() }
    }

    /// Stops the running effects, and performs no further ones.
    pub fn shut_down(&self) {
        self.shared.over.cancel();
    }
}

impl BuildContext {
    /// Performs an effect until it has ended or the worker is ended.
    async fn perform_until_over(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let mut work =
            pin!(self.with_worktree_lock(order, Box::pin(self.dispatch_effect(order, stop)), stop));
        tokio::select! {
            biased;
            report = &mut work => return report,
            () = self.over.cancelled() => stop.cancel(),
        }
        work.await
    }

    async fn dispatch_effect(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let outcome = match order.effect.what {
            EffectKind::Attempt { start } => return self.perform_attempt(order, start, stop).await,
            // A check that is stopped halfway starts again, as after a kill.
            EffectKind::Check => {
                stop.run_until_cancelled(Box::pin(self.perform_check(order))).await?
            }
            EffectKind::Commit => self.perform_commit(order).await,
            EffectKind::Perform { .. } => self.perform_action(order).await,
            EffectKind::Probe { .. } => self.probe_action(order).await,
            EffectKind::TakeBack => self.perform_take_back(order).await,
            EffectKind::Emit => {
                self.remove_landed_worktree(order).await;
                EffectOutcome::Done
            }
            EffectKind::Repair { .. } | EffectKind::Execute { .. } | EffectKind::Stop { .. } => {
                failed_outcome(misplaced_effect_fault(order))
            }
        };
        Some(outcome.into())
    }
}

#[async_trait]
impl Performer for BuildPerformer {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let effect = order.effect.clone();
        let shared = Arc::clone(&self.shared);
        let work =
            |stop: CancellationToken| async move { shared.perform_until_over(&order, &stop).await };
        self.under_way.perform_or_join(&effect, &stop, work).await
    }

    fn running_effects(&self) -> Vec<EffectId> {
        self.under_way.effect_ids()
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.shared.runs.reap_task(*task, &never).await;
        }
    }
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

    /// Performs work in a task's worktree with exclusive access, and redacts the report.
    pub(crate) async fn with_worktree_lock(
        &self,
        order: &EffectRequest,
        work: impl Future<Output = Option<EffectResult>>,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let _turn = self.worktrees.lock_worktree(order.effect.task, stop).await?;
        let mut report = work.await?;
        redact::redact_outcome(&self.settings.redactor, &mut report.outcome);
        Some(report)
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
        // Fails for an action that is being performed, which has no run.
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

    /// Returns the sandbox of an agent's processes in a task's worktree. It includes read access to
    /// the shims of the run, and to the socket that the environment names.
    pub(super) fn agent_sandbox(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
        environment: &[(OsString, OsString)],
    ) -> Wall {
        let mut wall = workspace.build_wall(environment).with_rules(&self.settings.wall);
        let shims = self.shims_folder(order);
        wall.writable.iter_mut().for_each(|writable| writable.push(shims.join(CommandShims::LOG)));
        wall.readable.push(shims);
        let socket = environment.iter().find(|(name, _)| name == mcp::SOCKET);
        wall.readable.extend(socket.map(|(_, path)| PathBuf::from(path)));
        // Only the guard's executable itself is needed, not its folder.
        wall.readable.push(self.settings.guard.executable.clone());
        wall
    }
}

/// Returns the outcome of an effect that failed.
pub(crate) fn failed_outcome(fault: Fault) -> EffectOutcome {
    EffectOutcome::Failed { fault: Arc::new(fault), approach: None }
}

fn misplaced_effect_fault(order: &EffectRequest) -> Fault {
    let message = format!("{:?} is nothing a build does", order.effect.what);
    Fault::internal_error("build", message, Internal { component: "build".to_owned() })
}
