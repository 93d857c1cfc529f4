//! What is written together or not at all.

use unstuck_core::engine::{QuestionId, Recorded, RunId, State, TaskId};

use crate::checkpoint::Checkpoint;
use crate::tables::Changes;

/// One decision's worth of writing: its events, what they change in the tables, the answers they
/// take up, and how far a conversation has come. A batch is durable as a whole or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in the order of their `seq`.
    pub events: Vec<Recorded>,
    /// What they change in the tables.
    pub changes: Changes,
    /// Answers that became part of the journal.
    pub taken: Vec<QuestionId>,
    /// How far a conversation had come when this was decided. If the decision ends the conversation
    /// it is not kept.
    pub checkpoint: Option<Checkpoint>,
    /// The whole state after these events, serialised, where it is time for one: opening reads
    /// the last of them and the events after it.
    pub snapshot: Option<Vec<u8>>,
}

impl Batch {
    /// The batch of `events`, which have been applied to `state`.
    pub fn new(state: &State, events: Vec<Recorded>) -> Self {
        let changes = Changes::of(state, &events);
        Self { events, changes, ..Self::default() }
    }
}

/// The run each event belongs to. A decision that names none belongs to the run that was named last
/// before it, if it is about the same task: why a run was followed by a wait or a question is part
/// of that run's story.
pub(crate) fn runs(events: &[Recorded]) -> Vec<Option<RunId>> {
    let mut last: Option<(RunId, Option<TaskId>)> = None;
    let mut credit = |recorded: &Recorded| {
        let about = recorded.event.about();
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
