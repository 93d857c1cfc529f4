//! One unit of work, as the outside describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::call::{Call, HttpCall, address_in, line_of};
use crate::fault::Work;
use crate::policy::Overrides;
use crate::time::Span;

/// One account at one provider: a hash over both, so that no credential is stored.
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

/// One unit of work: an agent's task, or a script that is kept alive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskSpec {
    /// Its name within the plan.
    pub name: String,
    /// What a person calls it.
    pub title: String,
    /// What is to be reached, in the words it was given.
    pub goal: String,
    /// What else its agent is told, as it was written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub brief: String,
    /// Names of the tasks that have to be done first.
    pub depends_on: Vec<String>,
    /// Higher goes first.
    pub priority: i32,
    /// The account its agent works with; all work on one account waits together.
    pub gate: GateKey,
    /// Where its limits differ from the project's.
    pub overrides: Overrides,
    /// What it may change.
    #[serde(skip_serializing_if = "ScopeSpec::is_empty")]
    pub scope: ScopeSpec,
    /// It runs beside no other task of its build.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub serialize: bool,
    /// Its own checks before a commit, where it has some instead of the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<Vec<String>>,
    /// Who works on it, where that is not whom the settings name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, where it is not the one of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The file it was written in, from the root of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The settings that were given for its build on the command line, by their paths.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What is done with the result once it is checked: merge, push, pull request, actions.
    pub mutations: Vec<Arc<MutationSpec>>,
    /// The phase that it belongs to, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<WorkPhase>,
    /// Set for a script that is kept alive.
    pub job: Option<JobSpec>,
    /// Set where a runtime elsewhere does the work and tells what comes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSpec>,
    /// Set where it stands for what a client of the MCP server works on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
}

impl TaskSpec {
    /// Which of the two kinds of work it is.
    pub const fn work(&self) -> Work {
        if self.job.is_some() { Work::Job } else { Work::Task }
    }

    /// What a person calls it: its title, or its name; empty where it has neither.
    pub fn called(&self) -> &str {
        let names = [self.title.as_str(), self.name.as_str()];
        names.into_iter().find(|name| !name.trim().is_empty()).unwrap_or_default()
    }

    /// Whether its result is brought onto the build's branch, where one comes after the other.
    pub fn merges(&self) -> bool {
        self.mutations.iter().any(|mutation| mutation.kind == MutationKind::Merge)
    }
}

/// A phase of planned work: first it reads, then it decides, then it acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkPhase {
    /// It only reads.
    Read,
    /// It decides what is to be done.
    Decide,
    /// It may do what cannot be taken back.
    Act,
}

impl WorkPhase {
    /// The name as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Act => "act",
        }
    }
}

/// A word that names no phase.
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

/// What a task may change, as globs from the root of the project. Where it allows nothing by name,
/// the project's settings say what it may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ScopeSpec {
    /// What it may change.
    pub allowed: Vec<String>,
    /// What it must not change, whatever else is allowed.
    pub forbidden: Vec<String>,
}

impl ScopeSpec {
    /// Whether it says nothing.
    pub const fn is_empty(&self) -> bool {
        self.allowed.is_empty() && self.forbidden.is_empty()
    }
}

/// How a script is kept alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct JobSpec {
    /// A repair is only ever proposed, never used by itself.
    pub propose_only: bool,
    /// A repair may be used even after an action of this firing was applied.
    pub repair_after_mutation: bool,
    /// Its schedule fires it again and again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    /// It is a single action that somebody wanted done once, and no script.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_action: bool,
}

/// Work that a runtime elsewhere does: it has no worktree, no branch and no checks of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSpec {}

/// A request of a program elsewhere, as it is recognised when it comes again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// Its `Idempotency-Key`.
    pub key: Arc<str>,
    /// Recognises what it said: the same key with something else is refused.
    pub said: u64,
}

/// An irreversible action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MutationSpec {
    /// Its name within its occurrence; the same key is never performed twice.
    pub key: String,
    /// What kind of action it is.
    pub kind: MutationKind,
    /// Recognises the arguments: the same key with other arguments is refused.
    pub arguments: u64,
    /// Whether the other side recognises a repeated call by itself.
    pub idempotent: bool,
    /// Whether it can be found out later if the action happened.
    pub probe: bool,
    /// The command that finds it out, where one does. It is kept with the action, because whoever
    /// sent it may be gone by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look_up: Option<ProbeCommand>,
    /// The command in one line for people, redacted, where the command itself is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// What is called, where the action is not about git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Call>>,
    /// How long after the call an absent effect may still appear.
    pub settle_ms: Span,
    /// The key holds for the whole project, not for one task or firing.
    pub permanent: bool,
    /// Left out unless the action with this key was applied.
    pub requires: Option<String>,
}

impl MutationSpec {
    /// The action that is this call, under this key.
    pub fn calling(key: impl Into<String>, call: Call) -> Self {
        let (kind, probe, settle_ms) = match &call {
            Call::PullRequest(wanted) => (MutationKind::PullRequest, true, wanted.timeout_ms),
            Call::Http(call) => (MutationKind::Http, call.look_up_url.is_some(), call.timeout_ms),
            Call::Command(command) => (MutationKind::Command, false, command.timeout_ms),
        };
        let (key, arguments) = (key.into(), call.digest());
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

    /// The same action, looked up by a command.
    #[must_use]
    pub fn looked_up_by(self, command: ProbeCommand) -> Self {
        Self { probe: true, look_up: Some(command), ..self }
    }

    /// What is done, in one line for people.
    pub fn shown(&self) -> Option<String> {
        if let Some(call) = &self.call {
            return Some(call.line());
        }
        match self.kind {
            MutationKind::Merge => Some("git merge".to_owned()),
            MutationKind::Push => Some("git push".to_owned()),
            MutationKind::PullRequest | MutationKind::Http | MutationKind::Command => {
                self.line.clone()
            }
        }
    }

    /// The command or address that looks it up, in one line for people.
    pub fn shown_probe(&self) -> Option<String> {
        if !self.probe {
            return None;
        }
        if let Some(command) = &self.look_up {
            return Some(match command.arguments.as_slice() {
                [flag, script] if command.program == "sh" && flag == "-c" => script.clone(),
                arguments => line_of(&command.program, arguments),
            });
        }
        match self.call.as_deref() {
            Some(Call::Http(HttpCall { look_up_url: Some(url), .. })) => Some(format!("GET {url}")),
            Some(call) => call.place(),
            None => match self.kind {
                MutationKind::Merge => Some("git log".to_owned()),
                MutationKind::Push => Some("git ls-remote".to_owned()),
                MutationKind::PullRequest | MutationKind::Http | MutationKind::Command => None,
            },
        }
    }

    /// The place where it would show.
    pub fn look_at(&self) -> Option<String> {
        match self.call.as_deref() {
            Some(call) => call.place(),
            None => address_in(self.line.as_deref()?),
        }
    }
}

/// A command that finds out whether an action happened. It did when the command ends with 0, and
/// its standard output is then what came back; it did not when it ends with 1. However else it ends,
/// it cannot tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProbeCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub timeout_ms: Span,
}

impl Default for ProbeCommand {
    fn default() -> Self {
        Self { program: String::new(), arguments: Vec::new(), timeout_ms: Span::from_mins(1) }
    }
}

impl MutationKind {
    /// Whether it is about the very commits of one attempt, so that another attempt has its own.
    pub const fn belongs_to_the_attempt(self) -> bool {
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
    /// Bringing the task's commits onto the build's branch.
    #[serde(rename = "git.merge")]
    Merge,
    /// Pushing a branch.
    #[serde(rename = "git.push")]
    Push,
    /// Opening a pull request.
    #[serde(rename = "github.pr")]
    PullRequest,
    /// A call to a service.
    #[serde(rename = "http")]
    Http,
    /// A command of the user's.
    #[default]
    #[serde(rename = "command")]
    Command,
}
