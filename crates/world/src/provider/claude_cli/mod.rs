//! Claude Code as an agent: `claude -p` with a stream of JSON lines.

mod failure;
mod parse;
mod spawn;
mod wire;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Fault, Permission};

pub use parse::ClaudeStream;

use super::account::AccountAuth;
use super::login;
use super::program::{ProgramRun, ProgramRunEnd, check_program};
use crate::agent::{Activity, Agent, AgentAssignment, AgentEnd, AgentResult, Usage};
use crate::process::{GuardCommand, Wall};

/// The name of this provider.
pub const NAME: &str = "claude-cli";

/// The settings for running Claude Code.
#[derive(Clone, Debug)]
pub struct ClaudeSettings {
    /// The path of the program.
    pub program: PathBuf,
    /// The guard of its processes.
    pub guard: GuardCommand,
    /// The credentials of the account.
    pub account: AccountAuth,
    /// The directory in which it keeps its state. A login is lent to it there.
    pub home: PathBuf,
    /// The URL of its service, if it is not the default one.
    pub base_url: Option<String>,
    /// Variables of the operator's environment for it, in addition to those of the assignment.
    pub environment: Vec<(OsString, OsString)>,
    /// The actions that it may perform without asking.
    pub permissions: ClaudePermissions,
    /// `true` if a sandbox is around it, so that it may skip its prompts as root.
    pub sandboxed: bool,
    /// The path of Unstuck, which serves it the tools to ask, to report and to declare.
    pub own_tools: Option<PathBuf>,
    /// Further arguments, passed on unchanged.
    pub arguments: Vec<String>,
}

/// The actions that Claude Code may perform without asking. An action that it would have to ask for
/// is denied, because no person is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaudePermissions {
    /// Editing files, and running commands by these rules.
    Listed(ShellRules),
    /// All actions.
    Skipped,
}

/// The commands that Claude Code may run without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellRules {
    /// Allowed commands, in the form of `--allowedTools`.
    pub allowed: Vec<String>,
    /// Forbidden commands, in the form of `--disallowedTools`.
    pub blocked: Vec<String>,
    /// `true` to allow only the listed commands. Otherwise all are allowed if the wall is fully
    /// enforced.
    pub only_allowed: bool,
}

/// Claude Code as an agent.
#[derive(Clone, Debug)]
pub struct ClaudeCli {
    settings: ClaudeSettings,
}

impl ClaudeCli {
    /// Creates an agent with these settings.
    pub const fn new(settings: ClaudeSettings) -> Self {
        Self { settings }
    }

    fn check_permissions(&self) -> Result<(), Fault> {
        let skips = self.settings.permissions == ClaudePermissions::Skipped;
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

    /// Starts the program once; returns `None` if the conversation to resume is unknown and no work
    /// was done.
    async fn run_once(
        &self,
        assignment: &AgentAssignment,
        thread: Option<&str>,
        tell: &mpsc::Sender<Activity>,
        stop: &CancellationToken,
    ) -> Option<AgentResult> {
        let limits = failure::ClaudeLimits {
            turns_max: assignment.limits.turns_max,
            resumes: thread.is_some(),
        };
        let mut stream = ClaudeStream::with_prompt(&assignment.prompt, limits);
        let run = ProgramRun {
            launch: self.settings.build_launch(assignment, thread),
            limits: assignment.limits,
            tell: tell.clone(),
            stop: stop.clone(),
            first: None,
        };
        let closed = run.run_dialog(&mut stream).await;
        // An invalid id of a conversation is rejected before any output.
        let refused = matches!(&closed, ProgramRunEnd::Ended(gone) if gone.has_refused_start());
        if stream.is_thread_unknown() || (refused && thread.is_some()) {
            return None;
        }
        let end = closed.into_agent_end(stream.reported_end(), NAME);
        let thread = stream.thread_id().or(thread).map(str::to_owned);
        Some(AgentResult {
            end: self.settings.account.redact_end(end),
            thread,
            usage: stream.convert_tokens(),
        })
    }

    /// Starts the program, and once more with a new conversation if the one to resume is unknown.
    async fn run_twice(
        &self,
        assignment: &AgentAssignment,
        tell: &mpsc::Sender<Activity>,
        stop: &CancellationToken,
    ) -> AgentResult {
        let thread = assignment.thread.as_deref();
        if let Some(ended) = self.run_once(assignment, thread, tell, stop).await {
            return ended;
        }
        // A new conversation has another id, by which the worker notices the change.
        let ended = self.run_once(assignment, None, tell, stop).await;
        ended.unwrap_or(AgentResult {
            end: AgentEnd::Stopped,
            thread: None,
            usage: Usage::default(),
        })
    }
}

#[async_trait]
impl Agent for ClaudeCli {
    fn provider_name(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn reports_cost(&self) -> bool {
        true
    }

    async fn check_ready(&self) -> Result<(), Fault> {
        check_program(&self.settings.program, NAME)?;
        self.check_permissions()?;
        self.settings.account.check_credential(NAME, login::CLAUDE.file)
    }

    fn transcript_folder(&self) -> Option<&Path> {
        Some(&self.settings.home)
    }

    fn wall_for(&self, assignment: &AgentAssignment) -> Wall {
        self.settings.build_wall(assignment)
    }

    async fn work_on(
        &self,
        assignment: AgentAssignment,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> AgentResult {
        let loan = match self.settings.prepare_home().await {
            Ok(loan) => loan,
            Err(fault) => {
                let end = AgentEnd::Failed(Box::new(fault));
                return AgentResult { end, thread: assignment.thread, usage: Usage::default() };
            }
        };
        login::run_with_login(loan, Box::pin(self.run_twice(&assignment, &tell, &stop))).await
    }
}
