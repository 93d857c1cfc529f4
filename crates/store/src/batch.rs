//! The unit of writing: a batch becomes durable as a whole or not at all.

use unstuck_core::engine::{QuestionId, RecordedEvent, RunId, State, TaskId};

use crate::checkpoint::Checkpoint;
use crate::tables::TableChanges;

/// The writes of one decision: its events, the changes they make in the tables, the answers they take up, and
/// the checkpoint of a conversation. A batch is durable as a whole or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in the order of their `seq`.
    pub events: Vec<RecordedEvent>,
    /// The changes of the table rows.
    pub changes: TableChanges,
    /// Questions whose answers became part of the journal.
    pub taken: Vec<QuestionId>,
    /// The conversation at the time of the decision. It is not kept if the decision ends the conversation.
    pub checkpoint: Option<Checkpoint>,
    /// The whole state after these events, serialized, if a snapshot is due: opening reads the last snapshot
    /// and the events after it.
    pub snapshot: Option<Vec<u8>>,
}

impl Batch {
    /// Creates the batch of `events`, which have been applied to `state`.
    pub fn new(state: &State, events: Vec<RecordedEvent>) -> Self {
        let changes = TableChanges::from_events(state, &events);
        Self { events, changes, ..Self::default() }
    }
}

/// Returns the run each event belongs to. A decision that names none belongs to the run that was named last
/// before it, if it is about the same task: why a run was followed by a wait or a question is part of that
/// run's history.
pub(crate) fn attribute_runs(events: &[RecordedEvent]) -> Vec<Option<RunId>> {
    let mut last: Option<(RunId, Option<TaskId>)> = None;
    let mut credit = |recorded: &RecordedEvent| {
        let about = recorded.event.subject_ids();
        if let Some(run) = about.run {
            let known = last.filter(|(before, _)| *before == run).and_then(|(_, task)| task);
            last = Some((run, about.task.or(known)));
            return Some(run);
        }
        let (run, task) = last.filter(|_| recorded.why.is_some())?;
        let same = about.task.is_none() || task.is_none() || about.task == task;
        same.then_some(run)
    };
    events.iter().map(&mut credit).collect()
}
