//! The tables: queries about a project without reading its journal.
//!
//! Each file holds one table: its row, and the changes that a batch makes in it. Rows of live items come from
//! the state, so that there is one source of truth; ended items are described by their last event.

mod build;
mod changes;
mod conversation;
mod cost;
mod gate;
mod mutation;
mod question;
mod run;
mod signature;
mod task;

pub use build::BuildRow;
pub use changes::TableChanges;
pub use cost::CostRow;
pub use gate::GateRow;
pub use mutation::{MutationChange, MutationRow, MutationStatus};
pub use question::{QuestionChange, QuestionEnding, QuestionRow, QuestionStatus};
pub use run::{RunChange, RunEnd, RunRow, RunStatus};
pub use signature::SignatureRow;
pub use task::{TaskChange, TaskRow};
