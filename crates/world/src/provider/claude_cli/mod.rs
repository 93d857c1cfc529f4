//! Claude Code as an agent: `claude -p` with a stream of JSON lines.

mod failure;
mod parse;
mod spawn;
mod tools;
mod wire;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Fault, Permission};

pub use parse::Stream;

use super::account::Account;
use super::program::{Closed, Run, usable};
use crate::agent::{Activity, Agent, Assignment, End, Ended, Usage};
use crate::process::{Guard, Wall};

/// The name of this provider.
pub const NAME: &str = "claude-cli";
/// The file in which the program keeps a login.
const LOGIN: &str = ".credentials.json";

/// How Claude Code is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program.
    pub program: PathBuf,
    /// What becomes the guard of its processes.
    pub guard: Guard,
    /// The way into the account.
    pub account: Account,
    /// The directory of its own in which it keeps its state, where it works with a key.
    pub home: PathBuf,
    /// Where its service is, when not at its usual place.
    pub base_url: Option<String>,
    /// What of the person's environment is for it, beside that of the assignment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// Whether a sandbox is around it, so that it may skip its prompts as root.
    pub sandboxed: bool,
    /// A file that names the MCP servers it may use.
    pub mcp_config: Option<PathBuf>,
    /// Our own program, from which it gets the tools to ask, to tell and to declare.
    pub own_tools: Option<PathBuf>,
    /// Further arguments, as they are.
    pub arguments: Vec<String>,
}

/// What Claude Code may do without asking. Whatever it would have to ask for is denied: nobody is
/// there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// Edit files, and run commands.
    Listed(ShellRules),
    /// Everything.
    Skipped,
}

/// Which commands Claude Code may run without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellRules {
    /// These, in the form of `--allowedTools`.
    pub allowed: Vec<String>,
    /// None of these, in the form of `--disallowedTools`.
    pub blocked: Vec<String>,
    /// Only those that are allowed, whatever is around it. Else all, where a wall keeps it in.
    pub only_allowed: bool,
}

/// Claude Code as an agent.
#[derive(Clone, Debug)]
pub struct ClaudeCli {
    settings: Settings,
}

impl ClaudeCli {
    /// An agent with these settings.
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }

    fn check_permissions(&self) -> Result<(), Fault> {
        let skips = self.settings.permissions == Permissions::Skipped;
        if skips && rustix::process::geteuid().is_root() && !self.settings.sandboxed {
            let message = "it does not skip its permission prompts as root without a sandbox";
            let what = "skip the permission prompts as root".to_owned();
            return Err(Fault::permission_skip_denied(
                NAME,
                message,
                Permission { what, ..Permission::default() },
            ));
        }
        Ok(())
    }

    /// Starts the program once; none where there is no such conversation, and nothing was done.
    async fn attempt(
        &self,
        assignment: &Assignment,
        thread: Option<&str>,
        tell: &mpsc::Sender<Activity>,
        stop: &CancellationToken,
    ) -> Option<Ended> {
        let limits =
            failure::Limits { turns_max: assignment.limits.turns_max, resumes: thread.is_some() };
        let mut stream = Stream::telling(&assignment.prompt, limits);
        let run = Run {
            launch: self.settings.launch(assignment, thread),
            limits: assignment.limits,
            tell: tell.clone(),
            stop: stop.clone(),
            first: None,
        };
        let closed = run.with(&mut stream).await;
        // A name that is no name is refused before anything is said.
        let refused = matches!(&closed, Closed::Ended(gone) if gone.refused());
        if stream.unknown_thread() || (refused && thread.is_some()) {
            return None;
        }
        let end = closed.end(stream.end(), NAME);
        let thread = stream.thread().or(thread).map(str::to_owned);
        Some(Ended { end: self.settings.account.redacted(end), thread, usage: stream.usage() })
    }
}

#[async_trait]
impl Agent for ClaudeCli {
    fn name(&self) -> Option<&'static str> {
        Some(NAME)
    }

    async fn check(&self) -> Result<(), Fault> {
        usable(&self.settings.program, NAME)?;
        self.check_permissions()?;
        self.settings.account.check(NAME, LOGIN)
    }

    fn transcripts(&self) -> Option<&Path> {
        // With a login it works in the person's own folder, which is not ours to change.
        matches!(self.settings.account, Account::Key(_)).then_some(&*self.settings.home)
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
        let thread = assignment.thread.as_deref();
        if let Some(ended) = self.attempt(&assignment, thread, &tell, &stop).await {
            return ended;
        }
        // A new conversation has another name: that is how whoever listens learns of it.
        let ended = self.attempt(&assignment, None, &tell, &stop).await;
        ended.unwrap_or(Ended { end: End::Stopped, thread: None, usage: Usage::default() })
    }
}
