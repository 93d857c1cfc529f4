//! Checkpoints: an agent's conversation, so that a crash costs no more than its last round.
//!
//! A checkpoint becomes durable together with the event that records the progress. There is one per task, the
//! latest; it is deleted when the task ends or another conversation begins.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::TaskId;
use unstuck_core::fault::{Fault, Http, Origin};

/// Maximum size of a conversation that is kept. A longer one has to be compacted first.
pub const CHECKPOINT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A serialized conversation, in the format of the agent that had it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct StoredConversation(Arc<str>);

/// The latest conversation of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The task of the conversation.
    pub task: TaskId,
    /// The conversation so far.
    pub conversation: StoredConversation,
}

/// The error of a conversation that is too long to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the conversation has {bytes} bytes; at most {CHECKPOINT_BYTES_MAX} are kept")]
pub struct ConversationTooLong {
    /// Size of the conversation in bytes.
    pub bytes: usize,
}

impl StoredConversation {
    /// Creates a conversation, unless it is too long.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, ConversationTooLong> {
        let text = text.into();
        match text.len() {
            0..=CHECKPOINT_BYTES_MAX => Ok(Self(text)),
            bytes => Err(ConversationTooLong { bytes }),
        }
    }

    /// Returns the serialized text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn byte_len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ConversationTooLong {
    /// Converts the error to a fault: the engine has the conversation compacted, and asks after a few times.
    pub fn to_fault(&self) -> Fault {
        let message = self.to_string();
        Fault::provider_context_too_long("checkpoint", message, Http::default())
            .with_origin(Origin::Host)
    }
}

impl TryFrom<String> for StoredConversation {
    type Error = ConversationTooLong;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

/// Omits the text, because conversations do not belong into a log.
impl fmt::Debug for StoredConversation {
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
        assert_eq!(StoredConversation::new(longest.as_str()).unwrap().as_str(), longest);
        let error = StoredConversation::new(longest + "x").unwrap_err();
        assert_eq!(error, ConversationTooLong { bytes: CHECKPOINT_BYTES_MAX + 1 });
        assert_eq!(error.to_fault().code(), Code::ProviderContextTooLong);
        serde_json::from_str::<StoredConversation>(&format!("{:?}", "y".repeat(error.bytes)))
            .unwrap_err();
    }

    #[test]
    fn a_log_does_not_show_what_was_said() {
        let said = StoredConversation::new("the password is swordfish").unwrap();
        assert_eq!(format!("{said:?}"), "Conversation(25 bytes)");
    }
}
