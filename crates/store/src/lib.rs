//! The persistence layer of Unstuck.
//!
//! A project has a journal of events and, beside it, tables for queries; both change in one transaction
//! ([`Batch`]). The holder of a project's lock writes ([`Journal`]); any process reads and answers
//! ([`Store`]). A table row follows from the events and the state they led to ([`tables`]), so every backend
//! keeps the same rows.
//!
//! Nothing here decides, performs or prints.

mod build_lookup;
mod chain;
mod checkpoint;
pub mod crash;
mod error;
pub mod memory;
mod snapshot;
pub mod sqlite;
mod store;
pub mod tables;

pub use build_lookup::BuildLookup;
pub use checkpoint::{CHECKPOINT_BYTES_MAX, Checkpoint, ConversationTooLong, StoredConversation};
pub use error::{AnswerError, Holder, StoreError};
pub use memory::MemoryStore;
pub use snapshot::{JournalTail, serialize_snapshot};
pub use sqlite::{AcceptedLoss, JournalVerification, SqliteStore};
pub use store::{Answer, Batch, Claim, EventPage, Journal, Outbox, QuestionPage, Receipt, Store};
