//! The persistence layer of Unstuck.
//!
//! A project has a journal of events and, beside it, tables for queries; both change in one transaction
//! ([`Batch`]). The holder of a project's lock writes ([`Journal`]); any process reads and answers
//! ([`Store`]). A table row follows from the events and the state they led to ([`tables`]), so every backend
//! keeps the same rows.
//!
//! Nothing here decides, performs or prints.

mod batch;
mod chain;
mod checkpoint;
pub mod crash;
mod error;
pub mod memory;
mod outbox;
mod places;
mod snapshot;
pub mod sqlite;
mod store;
pub mod tables;

pub use batch::Batch;
pub use checkpoint::{CHECKPOINT_BYTES_MAX, Checkpoint, ConversationTooLong, StoredConversation};
pub use error::StoreError;
pub use memory::MemoryStore;
pub use outbox::Outbox;
pub use places::BuildLookup;
pub use snapshot::{JournalTail, serialize_snapshot};
pub use sqlite::{AcceptedLoss, JournalVerification, SqliteStore};
pub use store::{
    Answer, AnswerError, Claim, EventPage, Holder, Journal, QuestionPage, Receipt, Store,
};
