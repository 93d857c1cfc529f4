//! What agents declare for after the checks, held to the settings once more before it is performed:
//! a declaration comes over a socket that anything an agent starts can speak to.

use unstuck_core::engine::Mutation;
use unstuck_core::fault::Fault;
use unstuck_world::commands::{Commands, Rules};
use unstuck_world::tool::Declarable;

use super::worker::Worker;
use super::world::Shared;
use crate::world::Order;

impl Shared {
    /// Whether an action may be performed or looked up. What the plan itself says always may.
    pub(super) async fn permit(&self, order: &Order, mutation: &Mutation) -> Result<(), Fault> {
        let spec = &mutation.spec;
        if order.task.mutations.iter().any(|planned| **planned == **spec) {
            return Ok(());
        }
        let nothing = Declarable::default();
        let (rules, declarable) = match &self.task(order)?.worker {
            Worker::Model(worker) => (worker.commands.clone(), &worker.declarable),
            Worker::Agent(_) => {
                let control = self.settings.control.as_ref();
                (Rules::default(), control.map_or(&nothing, |control| &control.declarable))
            }
        };
        let commands = Commands::new(&rules).permitting(self.allowed_commands(order).await);
        declarable.permits(spec, &commands).map_err(|fault| *fault)
    }
}
