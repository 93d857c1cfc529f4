//! Lookup of the build that an event belongs to. An event names its own subject; the task of a run and the
//! build of a task are looked up once and cached.

use std::collections::HashMap;

use unstuck_core::engine::{
    BuildId, Event, EventIds, MutationId, QuestionId, RecordedEvent, RunId, TaskId,
};

use crate::error::StoreError;
use crate::store::Store;

/// Maximum number of cached entries; beyond it the cache is cleared.
const KNOWN_MAX: usize = 50_000;

/// A cache of which run, task and build belong together.
#[derive(Debug, Default)]
pub struct BuildLookup {
    builds: HashMap<TaskId, BuildId>,
    tasks: HashMap<RunId, TaskId>,
    runs: HashMap<MutationId, RunId>,
}

impl BuildLookup {
    /// Returns the subject of an event, completed with its task and build.
    pub async fn resolve_subject(
        &mut self,
        store: &dyn Store,
        project: &str,
        recorded: &RecordedEvent,
    ) -> Result<EventIds, StoreError> {
        if self.builds.len() + self.tasks.len() + self.runs.len() > KNOWN_MAX {
            *self = Self::default();
        }
        self.learn_relations(&recorded.event);
        let EventIds { mut build, mut task, mut run } = recorded.event.subject_ids();
        let mutation = mutation_of_event(&recorded.event);
        run = run.or_else(|| self.runs.get(&mutation?).copied());
        if let (None, Some(run)) = (task, run) {
            task = self.find_task(store, project, run).await?;
        }
        if let (None, Some(mutation)) = (task, mutation) {
            task = store.load_mutation(project, mutation).await?.map(|row| row.task);
        }
        if let (None, Some(question)) = (build, question_of_event(&recorded.event)) {
            build = store.load_question(project, question).await?.and_then(|row| row.build);
        }
        if let (None, Some(task)) = (build, task) {
            build = self.find_build(store, project, task).await?;
        }
        Ok(EventIds { build, task, run })
    }

    /// Learns relations that the event itself states, without a lookup.
    fn learn_relations(&mut self, event: &Event) {
        match event {
            Event::RunStarted { run, task, .. } => {
                self.tasks.insert(*run, *task);
            }
            Event::MutationIntended { mutation, run, .. }
            | Event::MutationInFlight { mutation, run } => {
                self.runs.insert(*mutation, *run);
            }
            _ => {}
        }
    }

    async fn find_task(
        &mut self,
        store: &dyn Store,
        project: &str,
        run: RunId,
    ) -> Result<Option<TaskId>, StoreError> {
        if let Some(task) = self.tasks.get(&run) {
            return Ok(Some(*task));
        }
        let task = store.load_run(project, run).await?.map(|row| row.task);
        self.tasks.extend(task.map(|task| (run, task)));
        Ok(task)
    }

    async fn find_build(
        &mut self,
        store: &dyn Store,
        project: &str,
        task: TaskId,
    ) -> Result<Option<BuildId>, StoreError> {
        if let Some(build) = self.builds.get(&task) {
            return Ok(Some(*build));
        }
        let build = store.load_task(project, task).await?.map(|row| row.build);
        self.builds.extend(build.map(|build| (task, build)));
        Ok(build)
    }
}

/// Returns the action an event is about, if it names nothing else.
const fn mutation_of_event(event: &Event) -> Option<MutationId> {
    match event {
        Event::MutationProbing { mutation, .. }
        | Event::MutationSettling { mutation, .. }
        | Event::MutationApplied { mutation, .. }
        | Event::MutationFailed { mutation }
        | Event::MutationIndeterminate { mutation, .. }
        | Event::MutationReconciled { mutation, .. } => Some(*mutation),
        _ => None,
    }
}

/// Returns the question an event is about, if it names nothing else.
const fn question_of_event(event: &Event) -> Option<QuestionId> {
    match event {
        Event::QuestionResolved { question, .. } | Event::QuestionWithdrawn { question } => {
            Some(*question)
        }
        _ => None,
    }
}
