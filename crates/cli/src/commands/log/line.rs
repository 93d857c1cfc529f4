//! Formats an event as a plain line for people.

use std::collections::HashMap;
use std::io::{self, Write};

use unstuck_core::engine::{Event, QuestionId, RecordedEvent, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_core::tell::wanted_action;
use unstuck_store::{BuildLookup, Store, StoreError};

use crate::project;
use crate::render::{render_event, render_job_event, style, when, words};

pub(super) fn write_event_line(
    out: &mut impl Write,
    recorded: &RecordedEvent,
    about: Option<&LogSubject>,
) -> io::Result<()> {
    let dim = style::DIM;
    let strong = style::STRONG;
    let at = when::render_stamp(recorded.at);
    let general = || render_event(&recorded.event, recorded.at);
    match about {
        Some(LogSubject { name, is_job, wanted }) => {
            let of_job = is_job.then(|| render_job_event(recorded, wanted.as_deref())).flatten();
            let phrase = of_job.unwrap_or_else(general);
            writeln!(out, "{dim}{at}{dim:#}  {strong}{name}{strong:#}: {phrase}")
        }
        None => writeln!(out, "{dim}{at}{dim:#}  {}", general()),
    }
}

/// The task that an event is about.
#[derive(Clone, Debug)]
pub(super) struct LogSubject {
    /// The name as a person knows it.
    name: String,
    is_job: bool,
    /// The action that a person has to take, if the event asks for one.
    wanted: Option<String>,
}

/// The names of the tasks of events, with a cache of lookups.
#[derive(Default)]
pub(super) struct LogNames {
    tasks: HashMap<TaskId, LogSubject>,
    places: BuildLookup,
    /// The action that each question asks of a person.
    wanted: HashMap<QuestionId, String>,
}

impl LogNames {
    /// Returns the task of an event; `None` if the event is not about a single task.
    pub(super) async fn find_subject(
        &mut self,
        store: &dyn Store,
        project: &str,
        recorded: &RecordedEvent,
    ) -> Result<Option<LogSubject>, StoreError> {
        self.learn_names(&recorded.event);
        let place = self.places.resolve_subject(store, project, recorded).await?;
        let Some(task) = place.task else { return Ok(None) };
        let about = self.load_subject(store, project, task).await?;
        let wanted = match &recorded.event {
            Event::TaskParked { question, .. } => self.wanted.get(question).cloned(),
            _ => None,
        };
        Ok(Some(LogSubject { wanted, ..about }))
    }

    /// Records the names that events themselves carry, which saves lookups.
    fn learn_names(&mut self, event: &Event) {
        match event {
            Event::JobDefined { task, spec } => {
                self.tasks.insert(*task, LogSubject::from_spec(*task, spec));
            }
            Event::QuestionAsked { question } => {
                let fault = question.fault.as_deref();
                let wanted = wanted_action(question.kind, question.why.rule, fault);
                self.wanted.insert(question.id, words::plain_line(&wanted));
            }
            _ => {}
        }
    }

    async fn load_subject(
        &mut self,
        store: &dyn Store,
        project: &str,
        task: TaskId,
    ) -> Result<LogSubject, StoreError> {
        if let Some(about) = self.tasks.get(&task) {
            return Ok(about.clone());
        }
        let found = project::find_task(store, project, task).await?;
        let unknown = || LogSubject { name: format!("task {task}"), is_job: false, wanted: None };
        let about = found.map_or_else(unknown, |row| LogSubject::from_spec(task, &row.spec));
        self.tasks.insert(task, about.clone());
        Ok(about)
    }
}

impl LogSubject {
    /// Describes a task; a job has the name from the settings.
    fn from_spec(task: TaskId, spec: &TaskSpec) -> Self {
        let is_job = spec.job.is_some();
        let name = if is_job && !spec.name.trim().is_empty() {
            words::plain_line(&spec.name)
        } else {
            words::task_name(task, spec)
        };
        Self { name, is_job, wanted: None }
    }
}
