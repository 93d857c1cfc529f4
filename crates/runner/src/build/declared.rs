//! What agents declare for after the checks, held to the settings once more before it is performed:
//! a declaration comes over a socket that anything an agent starts can speak to.

use unstuck_core::engine::Mutation;
use unstuck_core::fault::Fault;
use unstuck_core::plan::MutationSpec;
use unstuck_world::commands::{Commands, Rules};
use unstuck_world::tool::{Declarable, Permitted, changed_code, shell_lines};

use super::check::names;
use super::connect::is_planned;
use super::worker::Worker;
use super::world::Shared;
use crate::world::Order;

/// How much of a change is shown with an action that runs what was changed. Git names the whole
/// contents at its beginning, so that a yes is for exactly these.
const PATCH_BYTES_MAX: usize = 4 * 1_024;

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
            return Ok(Permitted::default());
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
        let changed = self.changed_code_of(order, spec).await?;
        let permitted = declarable.permits(spec, &commands, &approved, changed.as_deref());
        permitted.map_err(|fault| *fault)
    }

    /// What an action runs that the build has changed, as a person reads it; none where it runs the
    /// project's files as the person has them.
    async fn changed_code_of(
        &self,
        order: &Order,
        spec: &MutationSpec,
    ) -> Result<Option<String>, Fault> {
        let lines = shell_lines(spec);
        if lines.is_empty() {
            return Ok(None);
        }
        let workspace = self.workspace(order).await?;
        let changed = workspace.changed_by_build().await?;
        let run = changed_code(workspace.directory(), &lines, &changed);
        if run.is_empty() {
            return Ok(None);
        }
        let patch = workspace.patch_by_build(&run).await?;
        let patch = String::from_utf8_lossy(&patch);
        let cut = patch.floor_char_boundary(PATCH_BYTES_MAX);
        let rest = if cut < patch.len() { "\n(and more)" } else { "" };
        Ok(Some(format!(
            "It runs {}, which this work changed:\n{}{rest}",
            names(&run),
            &patch[..cut]
        )))
    }
}
