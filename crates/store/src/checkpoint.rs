//! Checkpoints: an agent's conversation, so that a crash costs no more than its last round.
//!
//! A checkpoint becomes durable together with the event that records the progress. There is one per
//! task, the latest; it goes when the task ends or another conversation begins.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::TaskId;
use unstuck_core::fault::{Fault, Http, Origin};

/// The longest conversation that is kept. One that grows beyond it has to be shortened first.
pub const CHECKPOINT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A conversation written down, in the words of whoever had it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Conversation(Arc<str>);

/// The latest conversation of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The task.
    pub task: TaskId,
    /// What was said.
    pub conversation: Conversation,
}

/// A conversation is too long to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the conversation has {bytes} bytes; at most {CHECKPOINT_BYTES_MAX} are kept")]
pub struct ConversationTooLong {
    /// How long it is.
    pub bytes: usize,
}

impl Conversation {
    /// A conversation, unless it is too long.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, ConversationTooLong> {
        let text = text.into();
        match text.len() {
            0..=CHECKPOINT_BYTES_MAX => Ok(Self(text)),
            bytes => Err(ConversationTooLong { bytes }),
        }
    }

    /// What was written down.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ConversationTooLong {
    /// The fault it is: the engine has the conversation shortened, and after a few times asks.
    pub fn fault(&self) -> Fault {
        let message = self.to_string();
        Fault::provider_context_too_long("checkpoint", message, Http::default())
            .from_origin(Origin::Host)
    }
}

impl TryFrom<String> for Conversation {
    type Error = ConversationTooLong;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

/// What people and models said to each other does not belong into a log.
impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Conversation({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;

    use super::*;

    #[test]
    fn the_limit_is_the_last_length_that_is_kept() {
        let longest = "x".repeat(CHECKPOINT_BYTES_MAX);
        assert_eq!(Conversation::new(longest.as_str()).unwrap().as_str(), longest);
        let error = Conversation::new(longest + "x").unwrap_err();
        assert_eq!(error, ConversationTooLong { bytes: CHECKPOINT_BYTES_MAX + 1 });
        assert_eq!(error.fault().code(), Code::ProviderContextTooLong);
        serde_json::from_str::<Conversation>(&format!("{:?}", "y".repeat(error.bytes)))
            .unwrap_err();
    }

    #[test]
    fn a_log_does_not_show_what_was_said() {
        let said = Conversation::new("the password is swordfish").unwrap();
        assert_eq!(format!("{said:?}"), "Conversation(25 bytes)");
    }
}
