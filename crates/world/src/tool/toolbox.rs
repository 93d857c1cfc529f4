//! The tools of one attempt, bound to its worktree, its scope and its policy for commands.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::ActionOutcome;
use unstuck_core::engine::Reconciled;
use unstuck_core::fault::Fault;
use unstuck_core::plan::MutationSpec;

use super::declare::DeclarationPolicy;
use super::fail::internal_fault;
use super::files::WorktreeFiles;
use super::run::CommandRunner;
use super::wish::{Declaration, WorktreeAction};
use crate::commands::{
    CommandEnforcement, CommandEnvironment, CommandPolicy, CommandShims, NetworkIsolation,
};
use crate::egress::EgressProxy;
use crate::process::{GuardCommand, Wall};
use crate::scope::PathScope;

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The output that the model reads.
    pub text: String,
    /// The outcome of the call.
    pub outcome: ActionOutcome,
    /// The fault of a command that failed, from how it ended and what it wrote. `None` if the
    /// command only answered "no".
    pub verdict: Option<Box<Fault>>,
    /// The action that Unstuck's own rules prevented. Since a refusal is no failure, there is no
    /// verdict besides it.
    pub kept_from: Option<PreventedAction>,
}

/// An action of a command that Unstuck's own rules prevented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreventedAction {
    /// The command ran, but some path, host or the network was denied to it: a sentence for people.
    Reaching(String),
    /// The command did not run.
    Running {
        /// The command.
        command: String,
        /// The reason of the refusal.
        why: String,
    },
}

impl ToolOutput {
    pub(super) fn with_success(text: String) -> Self {
        Self { text, outcome: ActionOutcome::Succeeded, verdict: None, kept_from: None }
    }

    pub(super) fn with_failure(text: String) -> Self {
        Self { outcome: ActionOutcome::Failed, ..Self::with_success(text) }
    }
}

/// The worktree, the permissions and the settings of the tools of one attempt.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The root of the worktree.
    pub root: PathBuf,
    /// The scope of paths that the tools may access.
    pub scope: PathScope,
    /// The policy for commands.
    pub commands: CommandPolicy,
    /// The guard that commands run under.
    pub guard: GuardCommand,
    /// The lock file of the run; its directory exists.
    pub lock: PathBuf,
    /// The environment of commands.
    pub environment: CommandEnvironment,
    /// The shims on the `PATH` of that environment.
    pub shims: CommandShims,
    /// The sandbox of commands, to which `network` adds its part.
    pub wall: Wall,
    /// The network access of commands.
    pub network: NetworkIsolation,
    /// The proxy through which commands reach the allowed hosts; `None` if there are none.
    pub egress: Option<Arc<EgressProxy>>,
    /// Maximum duration of a command.
    pub timeout: Duration,
    /// The secrets, places and rules for actions that are declared for later.
    pub declarable: DeclarationPolicy,
}

impl ToolContext {
    /// Returns the complete sandbox of commands. The log of the shims is writable, because they
    /// record their refusals from inside the sandbox.
    pub(super) fn command_wall(&self) -> Wall {
        let mut wall = self.wall.clone();
        if let Some(writable) = &mut wall.writable {
            writable.extend([self.root.clone(), self.shims.log_file().to_owned()]);
        }
        wall.readable.push(self.shims.folder().to_owned());
        self.network.apply_to_wall(wall)
    }
}

/// The tools of one attempt.
#[derive(Debug)]
pub struct Toolbox {
    files: Arc<WorktreeFiles>,
    runs: CommandRunner,
}

impl Toolbox {
    /// Creates the tools.
    pub fn new(means: ToolContext) -> Self {
        let root = means.root.clone();
        let scope = means.scope.clone();
        Self { files: Arc::new(WorktreeFiles { root, scope }), runs: CommandRunner(means) }
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
        self.runs.0.declarable.explain_timing(spec, before)
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
