//! Formats an event as a plain line for people.

use std::collections::HashMap;
use std::io::{self, Write};

use unstuck_core::engine::{Event, QuestionId, Recorded, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_core::tell::wanted;
use unstuck_store::{Places, Store, StoreError};

use crate::project;
use crate::render::{happened, happened_to_job, style, when, words};

pub(super) fn plain(
    out: &mut impl Write,
    recorded: &Recorded,
    about: Option<&About>,
) -> io::Result<()> {
    let dim = style::DIM;
    let strong = style::STRONG;
    let at = when::stamp(recorded.at);
    let general = || happened(&recorded.event, recorded.at);
    match about {
        Some(About { name, is_job, wanted }) => {
            let of_job = is_job.then(|| happened_to_job(recorded, wanted.as_deref())).flatten();
            let phrase = of_job.unwrap_or_else(general);
            writeln!(out, "{dim}{at}{dim:#}  {strong}{name}{strong:#}: {phrase}")
        }
        None => writeln!(out, "{dim}{at}{dim:#}  {}", general()),
    }
}

/// The task that an event is about.
#[derive(Clone, Debug)]
pub(super) struct About {
    /// The name as a person knows it.
    name: String,
    is_job: bool,
    /// The action that a person has to take, if the event asks for one.
    wanted: Option<String>,
}

/// The names of the tasks of events, with a cache of lookups.
#[derive(Default)]
pub(super) struct Names {
    tasks: HashMap<TaskId, About>,
    places: Places,
    /// The action that each question asks of a person.
    wanted: HashMap<QuestionId, String>,
}

impl Names {
    /// Returns the task of an event; `None` if the event is not about a single task.
    pub(super) async fn of(
        &mut self,
        store: &dyn Store,
        project: &str,
        recorded: &Recorded,
    ) -> Result<Option<About>, StoreError> {
        self.learn(&recorded.event);
        let place = self.places.of(store, project, recorded).await?;
        let Some(task) = place.task else { return Ok(None) };
        let about = self.about(store, project, task).await?;
        let wanted = match &recorded.event {
            Event::TaskParked { question, .. } => self.wanted.get(question).cloned(),
            _ => None,
        };
        Ok(Some(About { wanted, ..about }))
    }

    /// Records the names that events themselves carry, which saves lookups.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::JobDefined { task, spec } => {
                self.tasks.insert(*task, About::of(*task, spec));
            }
            Event::QuestionAsked { question } => {
                let fault = question.fault.as_deref();
                let wanted = wanted(question.kind, question.why.rule, fault);
                self.wanted.insert(question.id, words::plain_line(&wanted));
            }
            _ => {}
        }
    }

    async fn about(
        &mut self,
        store: &dyn Store,
        project: &str,
        task: TaskId,
    ) -> Result<About, StoreError> {
        if let Some(about) = self.tasks.get(&task) {
            return Ok(about.clone());
        }
        let found = project::task(store, project, task).await?;
        let unknown = || About { name: format!("task {task}"), is_job: false, wanted: None };
        let about = found.map_or_else(unknown, |row| About::of(task, &row.spec));
        self.tasks.insert(task, about.clone());
        Ok(about)
    }
}

impl About {
    /// Describes a task; a job has the name from the settings.
    fn of(task: TaskId, spec: &TaskSpec) -> Self {
        let is_job = spec.job.is_some();
        let name = if is_job && !spec.name.trim().is_empty() {
            words::plain_line(&spec.name)
        } else {
            words::name(task, spec)
        };
        Self { name, is_job, wanted: None }
    }
}
