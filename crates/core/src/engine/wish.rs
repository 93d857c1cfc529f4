//! What a person may want done, as it is remembered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::command::Command;
use super::ids::{BuildId, TaskId};
use crate::plan::Request;

/// Who wants something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Their name.
    pub by: Arc<str>,
    /// The request it came with: the same once more changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
}

impl Order {
    /// What they want.
    pub fn wants(self, command: Command) -> Command {
        Command::By { order: self, wants: Box::new(command) }
    }
}

/// What a person wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// A build is started.
    Start,
    /// A build is held.
    Pause,
    /// A build goes on.
    Resume,
    /// A build is ended.
    Cancel,
    /// A wait ends early.
    Kick,
    /// A task is done again.
    Retry,
    /// A task is left out.
    Skip,
    /// A job runs now.
    Run,
    /// A job is left alone.
    Hold,
    /// A job runs at its times again.
    Release,
    /// It is looked again whether an action happened.
    CheckAgain,
    /// Tries are forgotten.
    Forget,
    /// It was said whether what is red at the base belongs to the work.
    JudgeBase,
}

impl Wish {
    /// What it was, for a sentence that begins with who wanted it.
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

    /// What a command is as a wish, and what it is about; none where no person wants such a thing.
    pub(super) const fn of(command: &Command) -> Option<(Self, Option<BuildId>, Option<TaskId>)> {
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
