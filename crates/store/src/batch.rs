//! What is written together or not at all.

use unstuck_core::engine::{QuestionId, Recorded, State};

use crate::tables::Changes;

/// One decision's worth of writing: its events, what they change in the tables, and the answers
/// they take up. A batch is durable as a whole or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in the order of their `seq`.
    pub events: Vec<Recorded>,
    /// What they change in the tables.
    pub changes: Changes,
    /// Answers that became part of the journal.
    pub taken: Vec<QuestionId>,
    /// The whole state after these events, serialised, where it is time for one: opening reads
    /// the last of them and the events after it.
    pub snapshot: Option<Vec<u8>>,
}

impl Batch {
    /// The batch of `events`, which have been applied to `state`.
    pub fn new(state: &State, events: Vec<Recorded>) -> Self {
        let changes = Changes::of(state, &events);
        Self { events, changes, taken: Vec::new(), snapshot: None }
    }
}
