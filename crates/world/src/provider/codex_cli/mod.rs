//! Codex as an agent: `codex app-server`, spoken to over its standard input and output.
//!
//! Why this and not `codex exec` is in `docs/adr/0009-codex-through-its-app-server.md`.

mod failure;
mod items;
mod requests;
mod reset;
mod session;
mod spawn;
mod wire;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;

pub use session::{Order, Session};

use super::account::Account;
use super::program::{self, FirstInHome, Run, usable};
use crate::agent::{Activity, Agent, Assignment, End, Ended, Usage};
use crate::process::{Guard, Wall};

/// The name of this provider.
pub const NAME: &str = "codex-cli";
/// The file in which the program keeps a login.
const LOGIN: &str = "auth.json";

/// How Codex is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program itself: see [`native`].
    pub program: PathBuf,
    /// What becomes the guard of its processes.
    pub guard: Guard,
    /// The way into the account.
    pub account: Account,
    /// The directory of its own in which it keeps its state. Below a temporary directory it does
    /// without some of its tools.
    pub home: PathBuf,
    /// Where its service is, when not at its usual place.
    pub base_url: Option<String>,
    /// What of the person's environment is for it, beside that of the assignment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it may do.
    pub access: Access,
    /// Our own program, from which it gets the tools to ask, to tell and to declare.
    pub own_tools: Option<PathBuf>,
    /// Further settings, each as `key=value` in TOML; MCP servers are named here.
    pub overrides: Vec<String>,
}

/// What Codex may do. Whatever it would have to ask for is declined: nobody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Write below its working directory, in its own sandbox and without a network.
    Workspace,
    /// Everything: the sandbox is somebody else's.
    Full,
}

impl Access {
    /// The policy for approvals, and the sandbox.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Workspace => ("on-request", "workspace-write"),
            Self::Full => ("never", "danger-full-access"),
        }
    }
}

/// Codex as an agent.
#[derive(Clone, Debug)]
pub struct CodexCli {
    settings: Settings,
}

impl CodexCli {
    /// An agent with these settings.
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

/// The program itself, where `found` is the script with which npm starts it: killed, that would
/// leave the program behind.
pub fn native(found: &Path) -> PathBuf {
    program::native(found, "@openai", "codex")
}

#[async_trait]
impl Agent for CodexCli {
    fn name(&self) -> Option<&'static str> {
        Some(NAME)
    }

    async fn check(&self) -> Result<(), Fault> {
        usable(&self.settings.program, NAME)?;
        self.settings.account.check(NAME, LOGIN)
    }

    fn transcripts(&self) -> Option<&Path> {
        Some(&self.settings.home)
    }

    fn wall(&self, assignment: &Assignment) -> Wall {
        self.settings.wall(assignment)
    }

    async fn work(
        &self,
        assignment: Assignment,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> Ended {
        if let Err(fault) = self.settings.prepare() {
            let end = End::Failed(Box::new(fault));
            return Ended { end, thread: assignment.thread, usage: Usage::default() };
        }
        let launch = self.settings.launch(&assignment);
        let access = self.settings.access(&assignment);
        let mut session = Session::new(Order {
            directory: assignment.directory,
            prompt: assignment.prompt,
            thread: assignment.thread.clone(),
            model: assignment.model,
            turns_max: assignment.limits.turns_max,
            access,
            allowed_commands: assignment.allowed_commands,
            zone: TimeZone::system(),
        });
        let first = FirstInHome::of(&self.settings.home).await;
        let run = Run { launch, limits: assignment.limits, tell, stop, first };
        let closed = run.with(&mut session).await;
        Ended {
            end: self.settings.account.redacted(closed.end(session.end(), NAME)),
            thread: session.thread().map(str::to_owned).or(assignment.thread),
            usage: session.usage(),
        }
    }
}
