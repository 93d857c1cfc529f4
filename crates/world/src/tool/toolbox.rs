//! The tools of one attempt, bound to its worktree, its fence and its rules about commands.

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

/// What a tool showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What there is to see.
    pub text: String,
    /// How it came out.
    pub outcome: Outcome,
    /// What a command that failed comes to, by how it ended and what it wrote. None where it only
    /// answered "no".
    pub verdict: Option<Box<Fault>>,
    /// What our own rules kept it from. That is no failure of anything, so there is no verdict beside
    /// it.
    pub kept_from: Option<KeptFrom>,
}

/// What our own rules kept a command from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptFrom {
    /// It ran, and did not get everywhere: a sentence for people.
    Reaching(String),
    /// It did not run.
    Running {
        /// The command.
        command: String,
        /// Why.
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

/// Where the tools of one attempt work, and with what means.
#[derive(Clone, Debug)]
pub struct Means {
    /// The worktree.
    pub root: PathBuf,
    /// Its fence.
    pub scope: Scope,
    /// The rules about commands.
    pub commands: Commands,
    /// What becomes the guard of a command.
    pub guard: Guard,
    /// The lock file of the run; its directory exists.
    pub lock: PathBuf,
    /// What a command gets of the environment.
    pub environment: Environment,
    /// The shims that the environment leads to.
    pub shims: Shims,
    /// What commands are kept from, beside what `network` says.
    pub wall: Wall,
    /// How commands stand to the network.
    pub network: Network,
    /// The proxy through which they reach the hosts that they may, where they may reach some.
    pub egress: Option<Arc<Egress>>,
    /// How long one command may take.
    pub timeout: Duration,
    /// What actions may use that are declared for later.
    pub declarable: Declarable,
}

impl Means {
    /// What commands are kept from. Shims note what they refuse from behind the wall.
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
    /// Tools with these means.
    pub fn new(means: Means) -> Self {
        let (root, scope) = (means.root.clone(), means.scope.clone());
        Self { files: Arc::new(Files { root, scope }), runs: Runs(means) }
    }

    /// Does what is wished. A fault means that it was not done, or not to its end.
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

    /// The action that is declared for after the checks. A fault means that it must not be.
    pub fn declared(&self, declaration: &Declaration) -> Result<MutationSpec, Box<Fault>> {
        let Means { declarable, commands, .. } = &self.runs.0;
        declarable.action(declaration, commands)
    }

    /// When an action is performed, as the model is told; `before` is what became of it before.
    pub fn when_run(&self, spec: &MutationSpec, before: Option<Reconciled>) -> &'static str {
        self.runs.0.declarable.when_run(spec, before)
    }

    /// What really stands between its commands and the outside.
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
