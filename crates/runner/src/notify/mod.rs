//! Notifications to the operator about events of a project.
//!
//! Messages follow from the journal: a [`NotificationSender`] reads it, as any process can, and
//! stores per channel up to which event it has delivered. So no message is lost when a process
//! dies, a message that may have been delivered twice has the same id, and a notification can
//! neither block the loop nor change a run.
//!
//! Design: `docs/design/notifications.md`.

mod channel_queue;
mod message_composer;
mod sender;
mod waiting_messages;

pub use channel_queue::{AnswerLinkSource, RETRY_MAX};
pub use sender::{ChannelTestResult, NotificationSender, NotifySetup, send_test_messages};
pub use waiting_messages::{AGE_MAX, WAITING_MAX};
