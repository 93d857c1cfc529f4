//! Codex as an agent: `codex app-server`, driven over its standard input and output.
//!
//! The reasons against `codex exec` are in `docs/adr/0009-codex-through-its-app-server.md`.

mod approvals;
mod failure;
mod items;
mod requests;
mod session;
mod spawn;
mod usage;
mod wire;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;

pub use requests::CodexSessionParams;
pub use session::CodexSession;

use super::account::AccountAuth;
use super::login;
use super::program::{self, HomeInitLock, ProgramRun, check_program};
use crate::agent::{Activity, Agent, AgentAssignment, AgentEnd, AgentResult, Usage};
use crate::commands::{CommandPolicy, CommandRules};
use crate::process::{GuardCommand, Wall};

/// The name of this provider.
pub const NAME: &str = "codex-cli";

/// The settings for running Codex.
#[derive(Clone, Debug)]
pub struct CodexSettings {
    /// The path of the program itself: see [`find_native_program`].
    pub program: PathBuf,
    /// The guard of its processes.
    pub guard: GuardCommand,
    /// The credentials of the account.
    pub account: AccountAuth,
    /// The directory in which it keeps its state. Below a temporary directory Codex disables some
    /// of its tools.
    pub home: PathBuf,
    /// The URL of its service, if it is not the default one.
    pub base_url: Option<String>,
    /// Variables of the operator's environment for it, in addition to those of the assignment.
    pub environment: Vec<(OsString, OsString)>,
    /// The permissions of Codex.
    pub access: CodexAccess,
    /// The rules about its commands, if the settings list any.
    pub commands: Option<CommandRules>,
    /// The path of Unstuck, which serves it the tools to ask, to report and to declare.
    pub own_tools: Option<PathBuf>,
    /// Further settings, each as `key=value` in TOML; MCP servers are configured here.
    pub overrides: Vec<String>,
}

/// The permissions of Codex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodexAccess {
    /// Writing below its working directory, in its own sandbox and without a network.
    Workspace,
    /// All actions: the sandbox is provided from outside.
    Full,
}

impl CodexAccess {
    /// Returns the approval policy and the sandbox mode. If `asks`, Codex asks before each command
    /// that does more than read.
    const fn approval_and_sandbox(self, asks: bool) -> (&'static str, &'static str) {
        match self {
            Self::Workspace if asks => ("untrusted", "workspace-write"),
            Self::Workspace => ("on-request", "workspace-write"),
            Self::Full if asks => ("untrusted", "danger-full-access"),
            // With the policy "never", Codex rejects commands by itself, and nobody learns of it.
            Self::Full => ("on-request", "danger-full-access"),
        }
    }
}

/// Codex as an agent.
#[derive(Clone, Debug)]
pub struct CodexCli {
    settings: CodexSettings,
}

impl CodexCli {
    /// Creates an agent with these settings.
    pub const fn new(settings: CodexSettings) -> Self {
        Self { settings }
    }

    /// Returns the rules by which approvals are decided. Without a sandbox of its own, Codex asks
    /// only about what it holds for dangerous, and an approval does not lift the wall.
    fn command_policy(&self, access: CodexAccess) -> Option<CommandPolicy> {
        match (&self.settings.commands, access) {
            (Some(rules), _) => Some(CommandPolicy::new(rules)),
            (None, CodexAccess::Full) => Some(CommandPolicy::new(&CommandRules::default())),
            (None, CodexAccess::Workspace) => None,
        }
    }
}

/// Returns the program itself if `found` is the script with which npm starts it: killing the script
/// would leave the program running.
pub fn find_native_program(found: &Path) -> PathBuf {
    program::find_native_program(found, "@openai", "codex")
}

#[async_trait]
impl Agent for CodexCli {
    fn provider_name(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn background_hosts(&self) -> &'static [&'static str] {
        &["ab.chatgpt.com", "api.github.com", "chatgpt.com", "github.com"]
    }

    async fn check_ready(&self) -> Result<(), Fault> {
        check_program(&self.settings.program, NAME)?;
        self.settings.account.check_credential(NAME, login::CODEX.file)
    }

    fn transcript_folder(&self) -> Option<&Path> {
        Some(&self.settings.home)
    }

    fn wall_for(&self, assignment: &AgentAssignment) -> Wall {
        self.settings.build_wall(assignment)
    }

    fn has_own_sandbox(&self, assignment: &AgentAssignment) -> bool {
        self.settings.effective_access(assignment) == CodexAccess::Workspace
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
        let launch = self.settings.build_launch(&assignment);
        let access = self.settings.effective_access(&assignment);
        let mut session = CodexSession::new(CodexSessionParams {
            directory: assignment.directory,
            prompt: assignment.prompt,
            thread: assignment.thread.clone(),
            model: assignment.model,
            turns_max: assignment.limits.turns_max,
            access,
            commands: self.command_policy(access),
            asks_first: self.settings.commands.is_some(),
            allowed_commands: assignment.allowed_commands,
            zone: TimeZone::system(),
        });
        let first = HomeInitLock::acquire(&self.settings.home).await;
        let run = ProgramRun { launch, limits: assignment.limits, tell, stop, first };
        let closed = login::run_with_login(loan, Box::pin(run.run_dialog(&mut session))).await;
        AgentResult {
            end: self
                .settings
                .account
                .redact_end(closed.into_agent_end(session.reported_end(), NAME)),
            thread: session.thread_id().map(str::to_owned).or(assignment.thread),
            usage: session.usage(),
        }
    }
}
