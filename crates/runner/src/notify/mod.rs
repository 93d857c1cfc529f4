//! Notifications to the operator about events of a project.
//!
//! Messages follow from the journal: a [`NotificationSender`] reads it, as any process can, and stores per
//! channel up to which event it has delivered. So no message is lost when a process dies, a message
//! that may have been delivered twice has the same id, and a notification can neither block the
//! loop nor change a run.
//! Design: `docs/design/notifications.md`.

mod line;
mod sender;
mod test;
mod waiting;
mod words;

pub use line::{RETRY_MAX, retry_delay};
pub use sender::{AnswerLinkSource, NotificationSender, NotifySetup};
pub use test::{ChannelTestResult, send_test_messages};
pub use waiting::{AGE_MAX, WAITING_MAX};
