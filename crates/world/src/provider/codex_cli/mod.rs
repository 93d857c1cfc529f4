//! Codex as an agent: `codex app-server`, driven over its standard input and output.
//!
//! The reasons against `codex exec` are in `docs/adr/0009-codex-through-its-app-server.md`.

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

/// The settings for running Codex.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The path of the program itself: see [`native`].
    pub program: PathBuf,
    /// The guard of its processes.
    pub guard: Guard,
    /// The credentials of the account.
    pub account: Account,
    /// The directory in which it keeps its state. Below a temporary directory Codex disables some
    /// of its tools.
    pub home: PathBuf,
    /// The URL of its service, if it is not the default one.
    pub base_url: Option<String>,
    /// Variables of the operator's environment for it, in addition to those of the assignment.
    pub environment: Vec<(OsString, OsString)>,
    /// The permissions of Codex.
    pub access: Access,
    /// The path of Unstuck, which serves it the tools to ask, to report and to declare.
    pub own_tools: Option<PathBuf>,
    /// Further settings, each as `key=value` in TOML; MCP servers are configured here.
    pub overrides: Vec<String>,
}

/// The permissions of Codex. A request for approval is declined, because no person is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Writing below its working directory, in its own sandbox and without a network.
    Workspace,
    /// All actions: the sandbox is provided from outside.
    Full,
}

impl Access {
    /// Returns the approval policy and the sandbox mode.
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
    /// Creates an agent with these settings.
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

/// Returns the program itself if `found` is the script with which npm starts it: killing the script
/// would leave the program running.
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
