//! The worker of a task: an agent program or a model.

use std::sync::Arc;

use unstuck_core::fault::Fault;
use unstuck_core::policy::Policy;
use unstuck_world::agent::Agent;
use unstuck_world::commands::{CommandRules, NetworkIsolation};
use unstuck_world::egress::EgressPolicy;
use unstuck_world::model::Model;
use unstuck_world::tool::DeclarationPolicy;

use crate::agent::ModelCallLimits;

/// The worker of a task.
#[derive(Clone)]
pub enum TaskWorker {
    /// A program with its own loop and tools.
    Agent(Arc<dyn Agent>),
    /// A model behind an API; Unstuck provides the loop and the tools.
    Model(Arc<ModelWorker>),
}

/// A model that works with Unstuck's tools.
#[derive(Clone)]
pub struct ModelWorker {
    /// The model to call.
    pub model: Arc<dyn Model>,
    /// The limits of one model call.
    pub settings: ModelCallLimits,
    /// The commands it may run, and the variables they get.
    pub commands: CommandRules,
    /// The network isolation of its commands, as tried out on this machine.
    pub network: NetworkIsolation,
    /// Network access of its commands if the network is not open to them.
    pub egress: EgressPolicy,
    /// The allowlist of actions that it may declare for after the checks.
    pub declarable: DeclarationPolicy,
    /// The policy, for the texts that name its limits.
    pub policy: Arc<Policy>,
}

impl TaskWorker {
    /// Checks whether the worker could begin. Makes no paid call.
    pub async fn check_ready(&self) -> Result<(), Fault> {
        match self {
            Self::Agent(agent) => agent.check_ready().await,
            Self::Model(worker) => worker.model.check_ready(),
        }
    }
}

impl From<Arc<dyn Agent>> for TaskWorker {
    fn from(agent: Arc<dyn Agent>) -> Self {
        Self::Agent(agent)
    }
}
