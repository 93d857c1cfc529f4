//! The tables: what can be asked about a project without reading its journal.
//!
//! Each file holds one table: its row, and what a batch changes in it. Rows about things that are
//! alive come from the state, so that there is one truth; what ended is told by its last event.

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
pub use changes::Changes;
pub use cost::CostRow;
pub use gate::GateRow;
pub use mutation::{MutationChange, MutationRow, MutationStatus};
pub use question::{QuestionChange, QuestionEnding, QuestionRow, QuestionStatus};
pub use run::{RunChange, RunEnd, RunRow, RunStatus};
pub use signature::SignatureRow;
pub use task::{TaskChange, TaskRow};
