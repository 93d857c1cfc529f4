//! The commands of people, in the form in which the journal records them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::command::Command;
use super::ids::{BuildId, TaskId};
use crate::plan::Request;

/// The person who gives a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandIssuer {
    /// The person's name.
    pub by: Arc<str>,
    /// The request that the command came with; the same request again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
}

impl CommandIssuer {
    /// Wraps a command as one that this person gives.
    pub fn wrap_command(self, command: Command) -> Command {
        Command::By { order: self, wants: Box::new(command) }
    }
}

/// The kind of command that a person gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Start a build.
    Start,
    /// Hold a build.
    Pause,
    /// Resume a build.
    Resume,
    /// End a build.
    Cancel,
    /// End a wait early.
    Kick,
    /// Run a task again.
    Retry,
    /// Skip a task.
    Skip,
    /// Run a job now.
    Run,
    /// Hold a job.
    Hold,
    /// Run a held job at its scheduled times again.
    Release,
    /// Probe again whether an action happened.
    CheckAgain,
    /// Reset the tries of errors.
    Forget,
    /// Judge whether the red checks of the base belong to the work.
    JudgeBase,
}

impl Wish {
    /// Returns the wish in words, for a sentence that begins with the person's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "started it",
            Self::Pause => "held it",
            Self::Resume => "let it go on",
            Self::Cancel => "ended it",
            Self::Kick => "ended the wait",
            Self::Retry => "had it done again",
            Self::Skip => "left it out",
            Self::Run => "ran it by hand",
            Self::Hold => "had it left alone",
            Self::Release => "let it run at its times again",
            Self::CheckAgain => "asked to look again",
            Self::Forget => "had the tries forgotten",
            Self::JudgeBase => "said whether the old failure belongs to the work",
        }
    }

    /// Returns the wish behind a command, and the build or task that it is about; `None` for
    /// commands that no person gives.
    pub(super) const fn from_command(
        command: &Command,
    ) -> Option<(Self, Option<BuildId>, Option<TaskId>)> {
        Some(match command {
            Command::StartBuild { .. } => (Self::Start, None, None),
            Command::Pause { build } => (Self::Pause, Some(*build), None),
            Command::Resume { build } => (Self::Resume, Some(*build), None),
            Command::Cancel { build } => (Self::Cancel, Some(*build), None),
            Command::Kick { task } => (Self::Kick, None, Some(*task)),
            Command::KickGate { .. } => (Self::Kick, None, None),
            Command::Retry { task } => (Self::Retry, None, Some(*task)),
            Command::Skip { task } => (Self::Skip, None, Some(*task)),
            Command::FireJob { task } => (Self::Run, None, Some(*task)),
            Command::HoldJob { task } => (Self::Hold, None, Some(*task)),
            Command::ReleaseJob { task } => (Self::Release, None, Some(*task)),
            Command::CheckAgain { .. } => (Self::CheckAgain, None, None),
            Command::Forget { .. } => (Self::Forget, None, None),
            Command::JudgeBase { build, .. } => (Self::JudgeBase, Some(*build), None),
            _ => return None,
        })
    }
}
