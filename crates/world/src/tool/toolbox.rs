//! The tools of one attempt, bound to its worktree, its scope and its policy for commands.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Outcome;
use unstuck_core::engine::Reconciled;
use unstuck_core::fault::Fault;
use unstuck_core::plan::MutationSpec;

use super::declare::Declarable;
use super::fail::broke;
use super::files::Files;
use super::run::Runs;
use super::wish::{Act, Declaration};
use crate::commands::{Commands, Enforced, Environment, Network, Shims};
use crate::egress::Egress;
use crate::process::{Guard, Wall};
use crate::scope::Scope;

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The output that the model reads.
    pub text: String,
    /// The outcome of the call.
    pub outcome: Outcome,
    /// The fault of a command that failed, from how it ended and what it wrote. `None` if the
    /// command only answered "no".
    pub verdict: Option<Box<Fault>>,
    /// The action that Unstuck's own rules prevented. Since a refusal is no failure, there is no
    /// verdict besides it.
    pub kept_from: Option<KeptFrom>,
}

/// An action of a command that Unstuck's own rules prevented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptFrom {
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

impl Shown {
    pub(super) fn fine(text: String) -> Self {
        Self { text, outcome: Outcome::Succeeded, verdict: None, kept_from: None }
    }

    pub(super) fn failed(text: String) -> Self {
        Self { outcome: Outcome::Failed, ..Self::fine(text) }
    }
}

/// The worktree, the permissions and the settings of the tools of one attempt.
#[derive(Clone, Debug)]
pub struct Means {
    /// The root of the worktree.
    pub root: PathBuf,
    /// The scope of paths that the tools may access.
    pub scope: Scope,
    /// The policy for commands.
    pub commands: Commands,
    /// The guard that commands run under.
    pub guard: Guard,
    /// The lock file of the run; its directory exists.
    pub lock: PathBuf,
    /// The environment of commands.
    pub environment: Environment,
    /// The shims on the `PATH` of that environment.
    pub shims: Shims,
    /// The sandbox of commands, to which `network` adds its part.
    pub wall: Wall,
    /// The network access of commands.
    pub network: Network,
    /// The proxy through which commands reach the allowed hosts; `None` if there are none.
    pub egress: Option<Arc<Egress>>,
    /// Maximum duration of a command.
    pub timeout: Duration,
    /// The secrets, places and rules for actions that are declared for later.
    pub declarable: Declarable,
}

impl Means {
    /// Returns the complete sandbox of commands. The log of the shims is writable, because they
    /// record their refusals from inside the sandbox.
    pub(super) fn wall(&self) -> Wall {
        let mut wall = self.wall.clone();
        if let Some(writable) = &mut wall.writable {
            writable.extend([self.root.clone(), self.shims.log().to_owned()]);
        }
        wall.readable.push(self.shims.folder().to_owned());
        self.network.within(wall)
    }
}

/// The tools of one attempt.
#[derive(Debug)]
pub struct Toolbox {
    files: Arc<Files>,
    runs: Runs,
}

impl Toolbox {
    /// Creates the tools.
    pub fn new(means: Means) -> Self {
        let root = means.root.clone();
        let scope = means.scope.clone();
        Self { files: Arc::new(Files { root, scope }), runs: Runs(means) }
    }

    /// Performs an action. A fault means that it was not performed, or not completed.
    pub async fn act(&self, act: Act, stop: &CancellationToken) -> Result<Shown, Box<Fault>> {
        if let Act::Run(command) = &act {
            return self.runs.run(command, stop).await;
        }
        let files = Arc::clone(&self.files);
        let done = spawn_blocking(move || match act {
            Act::Read(ask) => files.read(&ask),
            Act::List(ask) => files.list(&ask),
            Act::Search(ask) => files.search(&ask),
            Act::Write(ask) => files.write(&ask),
            Act::Edit(ask) => files.edit(&ask),
            Act::Run(_) => Err(broke("run_command", "a command is no file")),
        });
        done.await.unwrap_or_else(|error| Err(broke("file", error)))
    }

    /// Returns the specification of an action that is declared for after the checks. A fault means
    /// that it is not allowed.
    pub fn declared(&self, declaration: &Declaration) -> Result<MutationSpec, Box<Fault>> {
        let Means { declarable, commands, .. } = &self.runs.0;
        declarable.action(declaration, commands)
    }

    /// Returns the sentence that tells the model when an action is performed; `before` is the
    /// outcome of an earlier use of its key.
    pub fn when_run(&self, spec: &MutationSpec, before: Option<Reconciled>) -> &'static str {
        self.runs.0.declarable.when_run(spec, before)
    }

    /// Returns the restrictions that are really enforced on commands.
    pub fn enforced(&self) -> Enforced {
        let Means { environment, shims, network, .. } = &self.runs.0;
        let wall = self.runs.0.wall();
        Enforced {
            held: wall.try_out(),
            variables: environment.passed().to_vec(),
            shims: shims.programs().to_vec(),
            network: *network,
        }
    }
}
