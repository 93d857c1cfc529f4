//! The interface between the loop and the workers that perform effects: requests, results and
//! scopes.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    BuildId, Effect, EffectId, EffectKind, EffectOutcome, Mutation, TaskId,
};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::{ProbeCommand, TaskSpec};
use unstuck_core::policy::Amount;

/// A worker that performs effects. An effect is performed at most once per id; work that is
/// repeated after a crash goes through the ledger or is harmless.
#[async_trait]
pub trait Performer: Send + Sync {
    /// Performs an effect to its end. When `stop` is cancelled, ends the started work and returns
    /// `None`, unless the effect had ended by itself before.
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult>;

    /// Returns the effects that are in progress already, on behalf of an earlier holder.
    fn running_effects(&self) -> Vec<EffectId> {
        Vec::new()
    }

    /// Returns whether the effects continue when the loop ends, because another process performs
    /// them.
    fn outlives_the_loop(&self) -> bool {
        false
    }

    /// Ends all processes that an earlier process may have left running for these tasks, and
    /// returns when they are gone. The tasks are not looked up or started before.
    async fn reap_leftovers(&self, tasks: &[TaskId]);
}

/// An effect with all it takes to perform it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRequest {
    /// The project's name.
    pub project: Arc<str>,
    /// The effect to perform.
    pub effect: Effect,
    /// The build that the task belongs to.
    pub build: BuildId,
    /// The task's specification.
    pub task: Arc<TaskSpec>,
    /// Number of firings of the job so far; a task is fired once.
    pub firing: u32,
    /// Number of times an agent or the script started on the task in this firing. For a repair, its
    /// number within the firing.
    pub attempt: u32,
    /// The action to perform or look up.
    pub mutation: Option<Mutation>,
    /// The text for the agent about earlier failures.
    pub context: Option<String>,
    /// Set if the agent ended without a change and is asked to do the work or to say why none is
    /// needed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nudged: bool,
    /// The text for the agent about commands that were still running when its predecessor was last
    /// heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<String>,
    /// What a person last wrote about the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<Arc<str>>,
    /// What a script stood still over, which a person says is mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mended: Option<Arc<Fault>>,
    /// The failure of the script that is to be repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke: Option<Arc<Fault>>,
}

impl EffectRequest {
    /// Returns the command that looks the action up, if the effect is a probe and has one.
    pub fn probe_command(&self) -> Option<&ProbeCommand> {
        let EffectKind::Probe { .. } = self.effect.what else { return None };
        self.mutation.as_ref()?.spec.look_up.as_ref()
    }
}

/// The result of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectResult {
    /// The outcome to settle the effect with.
    pub outcome: EffectOutcome,
    /// The cost of the effect.
    #[serde(default)]
    pub spent: Amount,
    /// The command line of a script that exited with 0, redacted: the evidence if it has done what
    /// its phase does not allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The set of effects that a worker performs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PerformScope {
    /// All effects that no narrower scope covers.
    Project,
    /// The effects of one build.
    Build(BuildId),
    /// The effects of some tasks or jobs.
    Tasks(Arc<BTreeSet<TaskId>>),
    /// The effects of one task or job.
    Task(TaskId),
    /// The performing and the lookup of one action of a task; a lookup by command is excluded,
    /// because the worker of the task runs it.
    Action {
        /// The action's task.
        task: TaskId,
        /// The action's key.
        key: Arc<str>,
    },
}

impl PerformScope {
    /// Returns whether an order belongs to the scope.
    pub fn covers_request(&self, order: &EffectRequest) -> bool {
        match self {
            Self::Project => true,
            Self::Build(build) => order.build == *build,
            Self::Tasks(tasks) => tasks.contains(&order.effect.task),
            Self::Task(task) => order.effect.task == *task,
            Self::Action { task, key } => {
                order.effect.task == *task
                    && order.mutation.as_ref().is_some_and(|mutation| mutation.spec.key == **key)
                    && order.probe_command().is_none()
            }
        }
    }

    /// Returns whether a worker can have the scope without the turn at each of its tasks.
    pub(crate) const fn is_broad(&self) -> bool {
        matches!(self, Self::Project | Self::Build(_) | Self::Tasks(_))
    }

    /// Returns whether no other worker may have `other` next to this scope.
    pub(crate) fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Project, _) => false,
            (Self::Tasks(mine), Self::Tasks(theirs)) => !mine.is_disjoint(theirs),
            (Self::Tasks(mine), Self::Task(task)) => mine.contains(task),
            _ => self == other,
        }
    }

    /// Returns the rank of the scope: where two cover the same order, the lower one performs it.
    pub(crate) const fn breadth_rank(&self) -> u8 {
        match self {
            Self::Action { .. } => 0,
            Self::Task(_) => 1,
            Self::Tasks(_) => 2,
            Self::Build(_) => 3,
            Self::Project => 4,
        }
    }
}

impl EffectResult {
    /// Creates the result of an effect that cost `spent`.
    pub const fn new(outcome: EffectOutcome, spent: Amount) -> Self {
        Self { outcome, spent, command: None }
    }
}

impl From<EffectOutcome> for EffectResult {
    fn from(outcome: EffectOutcome) -> Self {
        Self::new(outcome, Amount::ZERO)
    }
}

/// Returns the outcome of an effect that failed.
pub(crate) fn failed_outcome(fault: Fault) -> EffectOutcome {
    EffectOutcome::Failed { fault: Arc::new(fault), approach: None }
}

/// Returns the report of an effect whose worker panicked. For an action the outcome is then
/// unknown.
pub(crate) fn panic_result(effect: &Effect) -> EffectResult {
    let context = Internal { component: "world".to_owned() };
    let fault = Arc::new(Fault::internal_error("runner", "an effect broke down", context));
    match effect.what {
        EffectKind::Perform { .. } | EffectKind::Probe { .. } => {
            EffectOutcome::Unknown { fault }.into()
        }
        _ => EffectOutcome::Failed { fault, approach: None }.into(),
    }
}
