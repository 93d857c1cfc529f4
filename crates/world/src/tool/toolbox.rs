//! The tools of one attempt, bound to its worktree, its fence and its rules about commands.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Outcome;
use unstuck_core::fault::Fault;

use super::fail::broke;
use super::files::Files;
use super::run::Runs;
use super::wish::Act;
use crate::commands::{Commands, Enforced, Network, Shims};
use crate::scope::Scope;
use crate::workspace::Shell;

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
}

impl Shown {
    pub(super) fn fine(text: String) -> Self {
        Self { text, outcome: Outcome::Succeeded, verdict: None }
    }
}

/// The tools of one attempt.
#[derive(Debug)]
pub struct Toolbox {
    files: Arc<Files>,
    runs: Runs,
}

impl Toolbox {
    /// Tools for the worktree at `root`. Commands run by `shell`, whose environment is whole, with
    /// `shims` in its search path.
    pub fn new(
        root: PathBuf,
        scope: Scope,
        commands: Commands,
        shell: Shell,
        shims: Shims,
        network: Network,
    ) -> Self {
        let runs = Runs { root: root.clone(), commands, shell, shims, network };
        Self { files: Arc::new(Files { root, scope }), runs }
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

    /// What really stands between its commands and the outside.
    pub fn enforced(&self) -> Enforced {
        Enforced {
            environment: true,
            shims: self.runs.shims.programs().to_vec(),
            network: self.runs.network,
        }
    }
}
