//! The tools of one attempt, bound to its worktree, its scope and its policy for commands.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::Reconciled;
use unstuck_core::fault::Fault;
use unstuck_core::plan::MutationSpec;

use super::allow::render_action;
use super::declare::KEY_BYTES_MAX;
use super::files::WorktreeFiles;
use super::output::{ToolOutput, internal_fault};
use super::run::{CommandRunner, ToolContext};
use super::wish::{Declaration, IrreversibleAction, WorktreeAction};
use crate::commands::CommandEnforcement;

/// The tools of one attempt.
#[derive(Debug)]
pub struct Toolbox {
    files: Arc<WorktreeFiles>,
    runs: CommandRunner,
}

impl Toolbox {
    /// Creates the tools.
    pub fn new(means: ToolContext) -> Self {
        let ToolContext { root, folder, scope, .. } = means.clone();
        Self { files: Arc::new(WorktreeFiles { root, folder, scope }), runs: CommandRunner(means) }
    }

    /// Performs an action. A fault means that it was not performed, or not completed.
    pub async fn perform_action(
        &self,
        act: WorktreeAction,
        stop: &CancellationToken,
    ) -> Result<ToolOutput, Box<Fault>> {
        if let WorktreeAction::Run(command) = &act {
            return self.runs.run(command, stop).await;
        }
        let files = Arc::clone(&self.files);
        let done = spawn_blocking(move || match act {
            WorktreeAction::Read(ask) => files.read_file(&ask),
            WorktreeAction::List(ask) => files.list_files(&ask),
            WorktreeAction::Search(ask) => files.search_text(&ask),
            WorktreeAction::Write(ask) => files.write_file(&ask),
            WorktreeAction::Edit(ask) => files.edit_file(&ask),
            WorktreeAction::Run(_) => Err(internal_fault("run_command", "a command is no file")),
        });
        done.await.unwrap_or_else(|error| Err(internal_fault("file", error)))
    }

    /// Returns the specification of an action that is declared for after the checks. A fault means
    /// that it is not allowed.
    pub fn build_declared_spec(
        &self,
        declaration: &Declaration,
    ) -> Result<MutationSpec, Box<Fault>> {
        let ToolContext { declarable, commands, .. } = &self.runs.0;
        declarable.build_spec(declaration, commands)
    }

    /// Returns the sentence that tells the model when an action is performed; `before` is the
    /// outcome of an earlier use of its key.
    pub fn explain_timing(&self, spec: &MutationSpec, before: Option<Reconciled>) -> &'static str {
        let ToolContext { declarable, commands, .. } = &self.runs.0;
        declarable.explain_timing(spec, before, commands.permits_text(&render_action(spec)))
    }

    /// Returns the declaration of an irreversible command that the operator allowed this once:
    /// Unstuck performs it as an action.
    pub fn find_allowed_action(&self, act: &WorktreeAction) -> Option<Declaration> {
        let WorktreeAction::Run(ask) = act else { return None };
        let command = self.runs.0.commands.find_allowed_irreversible(&ask.command)?;
        let key = command[..command.floor_char_boundary(KEY_BYTES_MAX)].to_owned();
        let timeout_seconds = ask.timeout_seconds;
        let action = IrreversibleAction::Command { command, secrets: Vec::new(), timeout_seconds };
        Some(Declaration { key, action, probe: None, after: None })
    }

    /// Returns the restrictions that are really enforced on commands.
    pub fn enforced_restrictions(&self) -> CommandEnforcement {
        let ToolContext { environment, shims, network, .. } = &self.runs.0;
        let wall = self.runs.0.command_wall();
        CommandEnforcement {
            held: wall.try_out(),
            variables: environment.passed_names().to_vec(),
            shims: shims.programs().to_vec(),
            network: *network,
        }
    }
}
