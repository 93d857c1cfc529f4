//! Actions that agents declared for after the checks, compared with the settings once more before
//! they are performed: a declaration comes over a socket that any process of an agent can use.

use unstuck_core::engine::Mutation;
use unstuck_core::fault::Fault;
use unstuck_core::plan::MutationSpec;
use unstuck_world::commands::{CommandPolicy, CommandRules};
use unstuck_world::tool::{ActionPermit, DeclarationPolicy, find_changed_code, shell_lines};

use super::check::join_path_names;
use super::connect::is_planned;
use super::worker::TaskWorker;
use super::world::BuildContext;
use crate::effects::EffectRequest;

/// Maximum length in bytes of the patch shown with an action that runs changed files. Git names the
/// hashes of the whole contents at its beginning, so that an approval is for exactly these.
const PATCH_BYTES_MAX: usize = 4 * 1_024;

impl BuildContext {
    /// Returns the access that an action has. An action of the plan is always permitted; one that
    /// an agent declared needs a rule or an approval of the operator.
    pub(super) async fn permit_action(
        &self,
        order: &EffectRequest,
        mutation: &Mutation,
    ) -> Result<ActionPermit, Fault> {
        let spec = &mutation.spec;
        if is_planned(order, mutation) {
            return Ok(ActionPermit::default());
        }
        let nothing = DeclarationPolicy::default();
        let (rules, declarable) = match &self.task_settings(order)?.worker {
            TaskWorker::Model(worker) => (worker.commands.clone(), &worker.declarable),
            TaskWorker::Agent(_) => {
                let control = self.settings.control.as_ref();
                (CommandRules::default(), control.map_or(&nothing, |control| &control.declarable))
            }
        };
        let approved = self.allowed_commands(order).await;
        let commands = CommandPolicy::new(&rules).with_permitted(approved.clone());
        let changed = self.describe_changed_code(order, spec).await?;
        let permitted = declarable.permit_action(spec, &commands, &approved, changed.as_deref());
        permitted.map_err(|fault| *fault)
    }

    /// Returns the description of changed files that an action runs; `None` if it runs the
    /// project's files unchanged.
    async fn describe_changed_code(
        &self,
        order: &EffectRequest,
        spec: &MutationSpec,
    ) -> Result<Option<String>, Fault> {
        let lines = shell_lines(spec);
        if lines.is_empty() {
            return Ok(None);
        }
        let workspace = self.open_workspace(order).await?;
        let changed = workspace.list_paths_changed_by_build().await?;
        let run = find_changed_code(workspace.directory(), &lines, &changed);
        if run.is_empty() {
            return Ok(None);
        }
        let patch = workspace.create_build_patch(&run).await?;
        let patch = String::from_utf8_lossy(&patch);
        let cut = patch.floor_char_boundary(PATCH_BYTES_MAX);
        let rest = if cut < patch.len() { "\n(and more)" } else { "" };
        Ok(Some(format!(
            "It runs {}, which this work changed:\n{}{rest}",
            join_path_names(&run),
            &patch[..cut]
        )))
    }
}
