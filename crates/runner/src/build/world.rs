//! The worker that performs the effects of a build.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, EffectId, Note, Outcome, TaskId, Work};
use unstuck_core::fault::{Config, Fault, Internal};
use unstuck_store::Store;
use unstuck_world::commands::Shims;
use unstuck_world::connector::Connector;
use unstuck_world::git::Oid;
use unstuck_world::mcp;
use unstuck_world::process::Wall;
use unstuck_world::workspace::{Place, Shell, Workspace};

use super::baseline::Baselines;
use super::denied::Denied;
use super::one_at_a_time::OneAtATime;
use super::redact;
use super::settings::{BuildSettings, TaskSettings};
use crate::clock::Clock;
use crate::decider::Decider;
use crate::runs::Runs;
use crate::under_way::UnderWay;
use crate::world::{Order, Report, World};

/// The target that work is brought onto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onto {
    /// The branch of its build.
    Build,
    /// The operator's current checkout.
    Checkout,
}

/// The worker of a build's effects. Clones share their state.
#[derive(Clone)]
pub struct BuildWorld {
    shared: Arc<Shared>,
    /// Kept apart from `Shared`, which running effects own: they are aborted when the last clone is
    /// dropped.
    under_way: Arc<UnderWay>,
}

/// The parts that are needed to perform an attempt and to judge its work.
pub(crate) struct Shared {
    pub(crate) settings: BuildSettings,
    onto: Onto,
    pub(super) decider: Arc<dyn Decider>,
    pub(super) store: Arc<dyn Store>,
    pub(super) project_name: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(super) runs: Runs,
    pub(super) baselines: Baselines,
    pub(super) denied: Denied,
    /// Tasks whose agent was told that it added a file that changes how the checks run.
    pub(super) told_first: Mutex<BTreeSet<TaskId>>,
    /// Tasks whose agent was told that fewer tests run.
    pub(super) told_fewer: Mutex<BTreeSet<TaskId>>,
    pub(super) walls_told: AtomicBool,
    /// Cancelled when no further effect is performed.
    over: CancellationToken,
    worktrees: OneAtATime,
    connector: Result<Connector, Fault>,
}

impl BuildWorld {
    /// Creates the worker for the decisions of `decider` about the project `project_name` in
    /// `store`.
    pub fn new(
        settings: BuildSettings,
        decider: Arc<dyn Decider>,
        store: Arc<dyn Store>,
        project_name: impl Into<String>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let shared = Shared::new(settings, Onto::Build, decider, store, project_name.into(), clock);
        Self { shared: Arc::new(shared), under_way: Arc::default() }
    }

    /// Stops the running effects, and performs no further ones.
    pub fn end(&self) {
        self.shared.over.cancel();
    }
}

impl Shared {
    /// Performs an effect until it has ended or the worker is ended.
    async fn perform(&self, order: &Order, stop: &CancellationToken) -> Option<Report> {
        let mut work = pin!(self.alone(order, Box::pin(self.outcome(order, stop)), stop));
        tokio::select! {
            biased;
            report = &mut work => return report,
            () = self.over.cancelled() => stop.cancel(),
        }
        work.await
    }

    async fn outcome(&self, order: &Order, stop: &CancellationToken) -> Option<Report> {
        let outcome = match order.effect.what {
            Work::Attempt { start } => return self.attempt(order, start, stop).await,
            // A check that is stopped halfway starts again, as after a kill.
            Work::Check => stop.run_until_cancelled(Box::pin(self.check(order))).await?,
            Work::Commit => self.commit(order).await,
            Work::Perform { .. } => self.act(order).await,
            Work::Probe { .. } => self.look_up(order).await,
            Work::TakeBack => self.take_back(order).await,
            Work::Emit => {
                self.put_away(order).await;
                Outcome::Done
            }
            Work::Repair { .. } | Work::Execute { .. } | Work::Stop { .. } => {
                failed(misplaced(order))
            }
        };
        Some(outcome.into())
    }
}

#[async_trait]
impl World for BuildWorld {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        let effect = order.effect.clone();
        let shared = Arc::clone(&self.shared);
        let work = |stop: CancellationToken| async move { shared.perform(&order, &stop).await };
        self.under_way.perform(&effect, &stop, work).await
    }

    fn performing(&self) -> Vec<EffectId> {
        self.under_way.effects()
    }

    async fn clear(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.shared.runs.clear(*task, &never).await;
        }
    }
}

impl Shared {
    pub(crate) fn new(
        settings: BuildSettings,
        onto: Onto,
        decider: Arc<dyn Decider>,
        store: Arc<dyn Store>,
        project_name: String,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            runs: Runs::new(settings.runs.clone()),
            baselines: Baselines::new(&settings.runs, &settings.start),
            denied: Denied::default(),
            told_first: Mutex::default(),
            told_fewer: Mutex::default(),
            connector: Connector::new(settings.credentials.clone()),
            walls_told: AtomicBool::new(false),
            over: CancellationToken::new(),
            worktrees: OneAtATime::default(),
            settings,
            onto,
            decider,
            store,
            project_name,
            clock,
        }
    }

    /// Performs work in a task's worktree with exclusive access, and redacts the report.
    pub(crate) async fn alone(
        &self,
        order: &Order,
        work: impl Future<Output = Option<Report>>,
        stop: &CancellationToken,
    ) -> Option<Report> {
        let _turn = self.worktrees.take(order.effect.task, stop).await?;
        let mut report = work.await?;
        redact::outcome(&self.settings.redactor, &mut report.outcome);
        Some(report)
    }

    /// Returns the commit that the work is brought onto.
    pub(crate) async fn head(&self, order: &Order) -> Result<Oid, Fault> {
        let BuildSettings { project, start, .. } = &self.settings;
        match self.onto {
            Onto::Build => project.build_head(order.build, start).await,
            Onto::Checkout => project.head().await,
        }
    }

    pub(super) fn is_of_a_build(&self) -> bool {
        self.onto == Onto::Build
    }

    /// Returns the settings of a task. One that the settings do not contain was renamed or removed
    /// meanwhile.
    pub(crate) fn task(&self, order: &Order) -> Result<&TaskSettings, Fault> {
        self.settings.tasks.get(&order.task.name).ok_or_else(|| {
            let message = format!("there is no task {:?} any more", order.task.name);
            let config = Config { field: Some(order.task.name.clone()), ..Config::default() };
            Fault::config_missing("plan", message, config)
        })
    }

    pub(super) fn place(order: &Order) -> Place {
        Place { build: order.build, task: order.effect.task }
    }

    /// Opens the worktree of a task that an attempt has worked in.
    pub(crate) async fn workspace(&self, order: &Order) -> Result<Workspace, Fault> {
        let BuildSettings { project, share, .. } = &self.settings;
        Workspace::open(project, Self::place(order), share).await
    }

    /// Returns the connector to external services.
    pub(super) fn connector(&self) -> Result<&Connector, Fault> {
        self.connector.as_ref().map_err(Clone::clone)
    }

    /// Sends a remark about a task to the operator.
    pub(crate) async fn remark(&self, order: &Order, text: &str) {
        let text = self.settings.redactor.text(text).into();
        let note = Command::Note { effect: order.effect.id, note: Note::Remarked { text } };
        // Fails for an action that is being performed, which has no run.
        if let Err(error) = self.decider.command(note).await {
            tracing::debug!(%error, "no receiver for a remark");
        }
    }

    /// Returns the environment of agents and checks, without variables that lead from a worktree
    /// back into the operator's own working tree.
    pub(super) fn environment(&self, order: &Order) -> Vec<(OsString, OsString)> {
        let BuildSettings { project, environment, in_place, .. } = &self.settings;
        if *in_place {
            return environment.clone();
        }
        project.environment_in(Self::place(order), environment)
    }

    /// Returns the shell for commands of a task.
    pub(crate) fn shell(&self, order: &Order) -> Shell {
        let environment = self.environment(order).into_iter();
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
    pub(super) fn wall(
        &self,
        order: &Order,
        workspace: &Workspace,
        environment: &[(OsString, OsString)],
    ) -> Wall {
        let mut wall = workspace.wall(environment).with(&self.settings.wall);
        let shims = self.shims_folder(order);
        wall.writable.iter_mut().for_each(|writable| writable.push(shims.join(Shims::LOG)));
        wall.readable.push(shims);
        let socket = environment.iter().find(|(name, _)| name == mcp::SOCKET);
        wall.readable.extend(socket.map(|(_, path)| PathBuf::from(path)));
        // Only the guard's executable itself is needed, not its folder.
        wall.readable.push(self.settings.guard.executable.clone());
        wall
    }
}

/// Returns the outcome of an effect that failed.
pub(crate) fn failed(fault: Fault) -> Outcome {
    Outcome::Failed { fault: Arc::new(fault), approach: None }
}

fn misplaced(order: &Order) -> Fault {
    let message = format!("{:?} is nothing a build does", order.effect.what);
    Fault::internal_error("build", message, Internal { component: "build".to_owned() })
}
