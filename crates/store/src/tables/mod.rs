//! The tables: queries about a project without reading its journal.
//!
//! Each table has its row, and the changes that a batch makes in it. Rows of live items come from
//! the state, so that there is one source of truth; ended items are described by their last event.

mod changes;
mod limits;
mod mutation;
mod question;
mod work;

pub use changes::TableChanges;
pub use limits::{CostRow, GateRow, SignatureRow};
pub use mutation::{MutationChange, MutationRow, MutationStatus};
pub use question::{QuestionChange, QuestionEnding, QuestionRow, QuestionStatus};
pub use work::{BuildRow, RunChange, RunEnd, RunRow, RunStatus, TaskChange, TaskRow};
