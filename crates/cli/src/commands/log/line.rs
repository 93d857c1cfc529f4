//! One event as a line: plain for people, JSON for programs.

use std::collections::HashMap;
use std::io::{self, Write};

use unstuck_core::engine::{Event, MutationId, Recorded, RunId, TaskId};
use unstuck_store::{Store, StoreError};

use crate::project;
use crate::render::{happened, style, when, words};

pub(super) fn plain(
    out: &mut impl Write,
    recorded: &Recorded,
    name: Option<&str>,
) -> io::Result<()> {
    let (dim, strong) = (style::DIM, style::STRONG);
    let at = when::stamp(recorded.at);
    let phrase = happened(&recorded.event, recorded.at);
    match name {
        Some(name) => {
            writeln!(out, "{dim}{at}{dim:#}  {strong}{name}{strong:#}: {phrase}")
        }
        None => writeln!(out, "{dim}{at}{dim:#}  {phrase}"),
    }
}

/// The names of the tasks that events are about, each looked up once.
#[derive(Default)]
pub(super) struct Names {
    tasks: HashMap<TaskId, String>,
    runs: HashMap<RunId, TaskId>,
    actions: HashMap<MutationId, RunId>,
}

impl Names {
    /// What the task of an event is called; none where it is about no single task.
    pub(super) async fn of(
        &mut self,
        store: &dyn Store,
        project: &str,
        recorded: &Recorded,
    ) -> Result<Option<String>, StoreError> {
        self.learn(&recorded.event);
        let about = recorded.event.about();
        let run = about.run.or_else(|| self.actions.get(&action(&recorded.event)?).copied());
        let task = match (about.task, run) {
            (Some(task), _) => Some(task),
            (None, Some(run)) => self.task(store, project, run).await?,
            (None, None) => None,
        };
        match task {
            Some(task) => self.name(store, project, task).await.map(Some),
            None => Ok(None),
        }
    }

    /// Events tell what belongs to what; nothing has to be looked up for it.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::RunStarted { run, task, .. } => {
                self.runs.insert(*run, *task);
            }
            Event::JobDefined { task, spec } => {
                self.tasks.insert(*task, words::name(*task, spec));
            }
            Event::MutationIntended { mutation, run, .. }
            | Event::MutationInFlight { mutation, run } => {
                self.actions.insert(*mutation, *run);
            }
            _ => {}
        }
    }

    async fn task(
        &mut self,
        store: &dyn Store,
        project: &str,
        run: RunId,
    ) -> Result<Option<TaskId>, StoreError> {
        if let Some(task) = self.runs.get(&run) {
            return Ok(Some(*task));
        }
        let found = store.run(project, run).await?.map(|row| row.task);
        self.runs.extend(found.map(|task| (run, task)));
        Ok(found)
    }

    async fn name(
        &mut self,
        store: &dyn Store,
        project: &str,
        task: TaskId,
    ) -> Result<String, StoreError> {
        if let Some(name) = self.tasks.get(&task) {
            return Ok(name.clone());
        }
        let found = project::task(store, project, task).await?;
        let name = found.map_or_else(|| format!("task {task}"), |row| words::name(task, &row.spec));
        self.tasks.insert(task, name.clone());
        Ok(name)
    }
}

/// The action an event is about, where it names nothing else.
const fn action(event: &Event) -> Option<MutationId> {
    match event {
        Event::MutationProbing { mutation }
        | Event::MutationSettling { mutation, .. }
        | Event::MutationApplied { mutation, .. }
        | Event::MutationFailed { mutation }
        | Event::MutationIndeterminate { mutation }
        | Event::MutationReconciled { mutation, .. } => Some(*mutation),
        _ => None,
    }
}
