//! The part of Unstuck that remembers.
//!
//! One project has one journal of events and, beside it, tables to ask questions of; both change
//! in one transaction ([`Batch`]). Whoever holds a project's lock writes ([`Journal`]); anybody
//! reads and answers ([`Store`]). What a table row holds follows from the events and the state
//! they led to ([`tables`]), so every backend keeps the same rows.
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
pub use checkpoint::{CHECKPOINT_BYTES_MAX, Checkpoint, Conversation, ConversationTooLong};
pub use error::StoreError;
pub use memory::MemoryStore;
pub use outbox::Outbox;
pub use places::Places;
pub use snapshot::{Tail, snapshot};
pub use sqlite::{LossAccepted, SqliteStore, Verified};
pub use store::{Answer, AnswerError, Claim, Holder, Journal, Page, QuestionPage, Receipt, Store};
