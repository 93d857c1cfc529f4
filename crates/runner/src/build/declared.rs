//! What agents declare for after the checks, held to the settings once more before it is performed:
//! a declaration comes over a socket that anything an agent starts can speak to.

use unstuck_core::engine::Mutation;
use unstuck_core::fault::Fault;
use unstuck_world::commands::{Commands, Rules};
use unstuck_world::tool::{ActionReach, Declarable, Permitted};

use super::connect::is_planned;
use super::worker::Worker;
use super::world::Shared;
use crate::world::Order;

impl Shared {
    /// What an action may reach that is to be performed or looked up. What the plan itself says always
    /// may; what an agent declared needs a rule or a person's leave.
    pub(super) async fn permit(
        &self,
        order: &Order,
        mutation: &Mutation,
    ) -> Result<Permitted, Fault> {
        let spec = &mutation.spec;
        if is_planned(order, mutation) {
            return Ok(Permitted { call: ActionReach::Anything, probe: ActionReach::Anything });
        }
        let nothing = Declarable::default();
        let (rules, declarable) = match &self.task(order)?.worker {
            Worker::Model(worker) => (worker.commands.clone(), &worker.declarable),
            Worker::Agent(_) => {
                let control = self.settings.control.as_ref();
                (Rules::default(), control.map_or(&nothing, |control| &control.declarable))
            }
        };
        let approved = self.allowed_commands(order).await;
        let commands = Commands::new(&rules).permitting(approved.clone());
        declarable.permits(spec, &commands, &approved).map_err(|fault| *fault)
    }
}
