//! Who works on a task.

use std::sync::Arc;

use unstuck_core::fault::Fault;
use unstuck_core::policy::Policy;
use unstuck_world::agent::Agent;
use unstuck_world::commands::{Network, Rules};
use unstuck_world::egress::EgressPolicy;
use unstuck_world::model::Model;
use unstuck_world::tool::Declarable;

use crate::agent::Settings;

/// Who works on a task.
#[derive(Clone)]
pub enum Worker {
    /// A program that brings its own loop and tools.
    Agent(Arc<dyn Agent>),
    /// A model behind an API; the loop around it and the tools are ours.
    Model(Arc<ModelWorker>),
}

/// A model that works with our tools.
#[derive(Clone)]
pub struct ModelWorker {
    /// Who thinks.
    pub model: Arc<dyn Model>,
    /// How far one call of it may go.
    pub settings: Settings,
    /// Which commands it may run, and with which variables.
    pub commands: Rules,
    /// How its commands stand to the network, as tried out on this machine.
    pub network: Network,
    /// What its commands reach where the network is not open to them.
    pub egress: EgressPolicy,
    /// What actions may use that it declares for after the checks.
    pub declarable: Declarable,
    /// The limits, for the words about them.
    pub policy: Arc<Policy>,
}

impl Worker {
    /// Whether it could begin. Costs no call.
    pub async fn check(&self) -> Result<(), Fault> {
        match self {
            Self::Agent(agent) => agent.check().await,
            Self::Model(worker) => worker.model.check(),
        }
    }
}

impl From<Arc<dyn Agent>> for Worker {
    fn from(agent: Arc<dyn Agent>) -> Self {
        Self::Agent(agent)
    }
}
