//! The specification of a unit of work, as the outside describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::call::{Call, HttpCall, find_address, render_command_line};
use crate::fault::Work;
use crate::policy::Overrides;
use crate::time::Span;

/// An account at a provider: a hash over both, so that no credential is stored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct GateKey(pub u64);

impl fmt::Display for GateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{:x}", self.0)
    }
}

/// A unit of work: an agent's task, or a script that is kept alive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskSpec {
    /// Unique name within the plan.
    pub name: String,
    /// The display name.
    pub title: String,
    /// The goal, verbatim.
    pub goal: String,
    /// Further text for the agent, verbatim.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub brief: String,
    /// Names of the tasks that have to be done first.
    pub depends_on: Vec<String>,
    /// Priority; higher goes first.
    pub priority: i32,
    /// The account that its agent works with; all work on an account shares its gate.
    pub gate: GateKey,
    /// Limits that differ from the project's.
    pub overrides: Overrides,
    /// The files it may change.
    #[serde(skip_serializing_if = "ScopeSpec::is_empty")]
    pub scope: ScopeSpec,
    /// `true` if it runs beside no other task of its build.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub serialize: bool,
    /// Checks before a commit, if it has some instead of the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<Vec<String>>,
    /// The provider, if it differs from the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, if it differs from the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The task file, relative to the root of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Settings given for its build on the command line, by their paths.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Actions on the checked result: merge, push, pull request, declared actions.
    pub mutations: Vec<Arc<MutationSpec>>,
    /// The phase it belongs to, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<WorkPhase>,
    /// Set for a script that is kept alive.
    pub job: Option<JobSpec>,
    /// Set if an external runtime does the work and reports the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSpec>,
    /// Set if it stands for the work of a client of the MCP server.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
}

impl TaskSpec {
    /// Returns the kind of work.
    pub const fn work(&self) -> Work {
        if self.job.is_some() { Work::Job } else { Work::Task }
    }

    /// Returns the display name: the title, or the name; empty if it has neither.
    pub fn display_name(&self) -> &str {
        let names = [self.title.as_str(), self.name.as_str()];
        names.into_iter().find(|name| !name.trim().is_empty()).unwrap_or_default()
    }

    /// Returns whether its result is merged onto the build's branch, which happens one task at a time.
    pub fn merges_result(&self) -> bool {
        self.mutations.iter().any(|mutation| mutation.kind == MutationKind::Merge)
    }
}

/// A phase of planned work: first read, then decide, then act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkPhase {
    /// Only reading.
    Read,
    /// Deciding what is to be done.
    Decide,
    /// Acting, which may include irreversible actions.
    Act,
}

impl WorkPhase {
    /// Returns the name of the phase.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Act => "act",
        }
    }
}

/// A word that is not a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a phase is read, decide or act")]
pub struct UnknownPhase;

impl FromStr for WorkPhase {
    type Err = UnknownPhase;

    fn from_str(word: &str) -> Result<Self, UnknownPhase> {
        let all = [Self::Read, Self::Decide, Self::Act];
        all.into_iter().find(|phase| phase.as_str() == word).ok_or(UnknownPhase)
    }
}

/// The files a task may change, as globs from the root of the project. If `allowed` is empty, the project's
/// settings decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ScopeSpec {
    /// Files it may change.
    pub allowed: Vec<String>,
    /// Files it must not change, whatever else is allowed.
    pub forbidden: Vec<String>,
}

impl ScopeSpec {
    /// Returns whether the scope is empty.
    pub const fn is_empty(&self) -> bool {
        self.allowed.is_empty() && self.forbidden.is_empty()
    }
}

/// The options of a script that is kept alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct JobSpec {
    /// `true` if a repair is only ever proposed, never applied automatically.
    pub propose_only: bool,
    /// `true` if a repair may be applied even after an action of this firing was applied.
    pub repair_after_mutation: bool,
    /// `true` if a schedule fires it repeatedly.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    /// `true` if it is a single action to be performed once, and not a script.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_action: bool,
}

/// Work of an external runtime: it has no worktree, no branch and no checks of Unstuck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSpec {}

/// A request of an external program, as it is recognized when it is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// The `Idempotency-Key` of the request.
    pub key: Arc<str>,
    /// A digest of the request: the same key with another content is refused.
    pub said: u64,
}

/// An irreversible action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MutationSpec {
    /// The idempotency key within its occurrence; the same key is never performed twice.
    pub key: String,
    /// The kind of action.
    pub kind: MutationKind,
    /// A digest of the arguments: the same key with other arguments is refused.
    pub arguments: u64,
    /// `true` if the remote side recognizes a repeated call itself.
    pub idempotent: bool,
    /// `true` if a probe can determine later whether the action happened.
    pub probe: bool,
    /// The probe command, if there is one. It is kept with the action, because the process that sent it may
    /// be gone by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look_up: Option<ProbeCommand>,
    /// The command as one line for people, redacted, if the command itself is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The call, if the action is not a git operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Call>>,
    /// The time after the call during which an absent effect may still appear.
    pub settle_ms: Span,
    /// `true` if the key holds for the whole project, not for one task or firing.
    pub permanent: bool,
    /// The key of the action without which this one is skipped.
    pub requires: Option<String>,
}

impl MutationSpec {
    /// Creates the action for a call under this key.
    pub fn from_call(key: impl Into<String>, call: Call) -> Self {
        let (kind, probe, settle_ms) = match &call {
            Call::PullRequest(wanted) => (MutationKind::PullRequest, true, wanted.timeout_ms),
            Call::Http(call) => (MutationKind::Http, call.look_up_url.is_some(), call.timeout_ms),
            Call::Command(command) => (MutationKind::Command, false, command.timeout_ms),
        };
        let key = key.into();
        let arguments = call.digest();
        Self {
            key,
            kind,
            arguments,
            probe,
            settle_ms,
            call: Some(Box::new(call)),
            ..Self::default()
        }
    }

    /// Sets the command that probes the outcome.
    #[must_use]
    pub fn with_probe_command(self, command: ProbeCommand) -> Self {
        Self { probe: true, look_up: Some(command), ..self }
    }

    /// Formats the action as one line for people.
    pub fn render_line(&self) -> Option<String> {
        if let Some(call) = &self.call {
            return Some(call.render_line());
        }
        match self.kind {
            MutationKind::Merge => Some("git merge".to_owned()),
            MutationKind::Push => Some("git push".to_owned()),
            MutationKind::PullRequest | MutationKind::Http | MutationKind::Command => {
                self.line.clone()
            }
        }
    }

    /// Formats the probe's command or address as one line for people.
    pub fn render_probe(&self) -> Option<String> {
        if !self.probe {
            return None;
        }
        if let Some(command) = &self.look_up {
            return Some(match command.arguments.as_slice() {
                [flag, script] if command.program == "sh" && flag == "-c" => script.clone(),
                arguments => render_command_line(&command.program, arguments),
            });
        }
        match self.call.as_deref() {
            Some(Call::Http(HttpCall { look_up_url: Some(url), .. })) => Some(format!("GET {url}")),
            Some(call) => call.visible_at(),
            None => match self.kind {
                MutationKind::Merge => Some("git log".to_owned()),
                MutationKind::Push => Some("git ls-remote".to_owned()),
                MutationKind::PullRequest | MutationKind::Http | MutationKind::Command => None,
            },
        }
    }

    /// Returns the place where the effect would be visible.
    pub fn look_at(&self) -> Option<String> {
        match self.call.as_deref() {
            Some(call) => call.visible_at(),
            None => find_address(self.line.as_deref()?),
        }
    }
}

/// A command that determines whether an action happened. Exit code 0 says that it did, and standard output is
/// then the result; exit code 1 says that it did not. Any other end leaves the outcome unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProbeCommand {
    /// The program to run.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Timeout of the command.
    pub timeout_ms: Span,
}

impl Default for ProbeCommand {
    fn default() -> Self {
        Self { program: String::new(), arguments: Vec::new(), timeout_ms: Span::from_mins(1) }
    }
}

impl MutationKind {
    /// Returns whether the action concerns the commits of one attempt, so that another attempt has its own.
    pub const fn belongs_to_attempt(self) -> bool {
        match self {
            Self::Merge | Self::Push => true,
            Self::PullRequest | Self::Http | Self::Command => false,
        }
    }
}

/// The kinds of irreversible action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MutationKind {
    /// Merging the task's commits onto the build's branch.
    #[serde(rename = "git.merge")]
    Merge,
    /// Pushing a branch.
    #[serde(rename = "git.push")]
    Push,
    /// Opening a pull request.
    #[serde(rename = "github.pr")]
    PullRequest,
    /// A request to a service.
    #[serde(rename = "http")]
    Http,
    /// A command of the user.
    #[default]
    #[serde(rename = "command")]
    Command,
}
