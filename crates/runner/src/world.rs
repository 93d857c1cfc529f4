//! What performs effects, as the loop sees it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{BuildId, Effect, EffectId, Mutation, Outcome, TaskId, Work};
use unstuck_core::fault::Fault;
use unstuck_core::plan::{ProbeCommand, TaskSpec};
use unstuck_core::policy::Amount;

/// What performs effects. An effect is performed at most once per id; whatever it does a second
/// time, after a crash, goes through the ledger or is harmless.
#[async_trait]
pub trait World: Send + Sync {
    /// Performs an effect to its end. When `stop` is cancelled, ends what was started and returns
    /// nothing, unless the effect had ended by itself before.
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report>;

    /// What it is performing already, for a loop that has ended.
    fn performing(&self) -> Vec<EffectId> {
        Vec::new()
    }

    /// Whether what it performs goes on when the loop ends, because another process does it.
    fn outlives_the_loop(&self) -> bool {
        false
    }

    /// Ends whatever an earlier process may have left running for these tasks, and returns when it
    /// is gone. Nothing of them is looked up or started before.
    async fn clear(&self, tasks: &[TaskId]);
}

/// An effect with everything that is needed to perform it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The project.
    pub project: Arc<str>,
    /// What is to be done.
    pub effect: Effect,
    /// The build the task belongs to.
    pub build: BuildId,
    /// The task.
    pub task: Arc<TaskSpec>,
    /// How often the job was fired; a task is fired once.
    pub firing: u32,
    /// How often an agent or the script began on it anew, in this firing. Of a repair, which one
    /// of this firing it is.
    pub attempt: u32,
    /// The action that is to be performed or looked up.
    pub mutation: Option<Mutation>,
    /// What an agent has to know about what failed before.
    pub context: Option<String>,
    /// The agent ended without a change, and is asked to do the work or to say why none is needed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nudged: bool,
    /// What an agent has to know about the commands that it was cut off from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<String>,
    /// What a person last wrote about the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<Arc<str>>,
    /// What a script stood still over, which a person says is mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mended: Option<Arc<Fault>>,
    /// How the script failed that is to be repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke: Option<Arc<Fault>>,
}

impl Order {
    /// The command that looks an action up, where that is what is to be done.
    pub fn look_up(&self) -> Option<&ProbeCommand> {
        let Work::Probe { .. } = self.effect.what else { return None };
        self.mutation.as_ref()?.spec.look_up.as_ref()
    }
}

/// How an effect ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How.
    pub outcome: Outcome,
    /// What it cost.
    #[serde(default)]
    pub spent: Amount,
}

/// What somebody performs the effects of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Everything nobody else performs.
    Project,
    /// One build.
    Build(BuildId),
    /// Some tasks or jobs.
    Tasks(Arc<BTreeSet<TaskId>>),
    /// One task or job.
    Task(TaskId),
    /// One action of a task, performed and looked up; unless a command looks it up, which is run by
    /// whoever performs the task.
    Action {
        /// The task.
        task: TaskId,
        /// The action's key.
        key: Arc<str>,
    },
}

impl Scope {
    /// Whether an order falls under it.
    pub fn covers(&self, order: &Order) -> bool {
        match self {
            Self::Project => true,
            Self::Build(build) => order.build == *build,
            Self::Tasks(tasks) => tasks.contains(&order.effect.task),
            Self::Task(task) => order.effect.task == *task,
            Self::Action { task, key } => {
                order.effect.task == *task
                    && order.mutation.as_ref().is_some_and(|mutation| mutation.spec.key == **key)
                    && order.look_up().is_none()
            }
        }
    }

    /// Whether whoever performs it has not taken the turn at each of its tasks.
    pub(crate) const fn is_broad(&self) -> bool {
        matches!(self, Self::Project | Self::Build(_) | Self::Tasks(_))
    }

    /// Whether nobody else may perform `other` beside it.
    pub(crate) fn takes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Project, _) => false,
            (Self::Tasks(mine), Self::Tasks(theirs)) => !mine.is_disjoint(theirs),
            (Self::Tasks(mine), Self::Task(task)) => mine.contains(task),
            _ => self == other,
        }
    }

    /// The narrower scope performs where two cover the same order.
    pub(crate) const fn breadth(&self) -> u8 {
        match self {
            Self::Action { .. } => 0,
            Self::Task(_) => 1,
            Self::Tasks(_) => 2,
            Self::Build(_) => 3,
            Self::Project => 4,
        }
    }
}

impl From<Outcome> for Report {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, spent: Amount::ZERO }
    }
}
