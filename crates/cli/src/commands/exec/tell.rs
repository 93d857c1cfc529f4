//! What is said beside the command's own output: on standard error, a line at a time.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use unstuck_core::engine::{Event, QuestionId, Recorded, Rule, RunId, TaskId, TaskState};
use unstuck_core::time::Span;
use unstuck_store::Store;
use unstuck_store::tables::QuestionRow;

use crate::args::Exec;
use crate::error::Error;
use crate::project::{self, Project};
use crate::render::{self, event_json, json_line, words};

/// How much is said, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saying {
    /// A person reads what happens.
    Words,
    /// Somebody wants to hear of questions only.
    Quiet,
    /// A program reads each event.
    Json,
}

impl Saying {
    pub(crate) const fn of(args: &Exec) -> Self {
        match (args.json, args.quiet) {
            (true, _) => Self::Json,
            (_, true) => Self::Quiet,
            _ => Self::Words,
        }
    }
}

/// A question in its words, for a program.
#[derive(Serialize)]
struct Asked {
    question: QuestionRow,
}

/// Says what happens.
pub(crate) struct Teller {
    saying: Saying,
    store: Arc<dyn Store>,
    project: Arc<str>,
    /// What takes it up again.
    again: String,
    /// The latest run of the task, as far as it was heard of.
    run: Mutex<Option<RunId>>,
}

impl Teller {
    pub(crate) fn new(saying: Saying, store: Arc<dyn Store>, project: &Project) -> Self {
        let again = "`unstuck exec` of it".to_owned();
        Self { saying, store, project: Arc::clone(project.name()), again, run: Mutex::new(None) }
    }

    /// The same, for a job of the settings.
    pub(crate) fn of_job(self, name: &str) -> Self {
        Self { again: format!("`unstuck jobs run {name}`"), ..self }
    }

    /// Something happened to the task, or to everybody.
    pub(crate) fn event(&self, task: TaskId, recorded: &Recorded, narration: Option<&str>) {
        let concerns = self.concerns(task, &recorded.event);
        if self.saying == Saying::Json && concerns {
            // The reader is gone; the command is not.
            let _ = event_json(&mut io::stderr(), &self.project, recorded);
        }
        // That it runs and that it is done is seen without a word; a question says more itself. And
        // jobs never end as a build does: that was somebody else's.
        let plain = matches!(
            recorded.event,
            Event::RunStarted { .. }
                | Event::TaskDone { .. }
                | Event::TaskParked { .. }
                | Event::BuildCompleted { .. }
                | Event::BuildFailed { .. }
                | Event::BuildCancelled { .. }
        );
        if let Some(narration) = narration
            && concerns
            && !plain
            && self.saying == Saying::Words
        {
            render::note(&format!("unstuck: {narration}"));
        }
    }

    /// Whether an event is about the task, or about no task at all.
    fn concerns(&self, task: TaskId, event: &Event) -> bool {
        let mut own = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::RunStarted { run, task: of, .. } = event
            && *of == task
        {
            *own = Some(*run);
        }
        let about = event.about();
        match (about.task, about.run) {
            (Some(of), _) => of == task,
            (None, Some(run)) => own.is_none_or(|own| own == run),
            (None, None) => true,
        }
    }

    /// Somebody else runs it just now.
    pub(crate) fn in_line(&self, name: &str) {
        if self.saying == Saying::Words {
            render::note(&format!("unstuck: “{name}” is being run already. It is next."));
        }
    }

    /// Another process still runs it, and the time to wait is over.
    pub(super) fn still_in_line(&self, name: &str) {
        if self.saying == Saying::Words {
            render::note(&format!(
                "unstuck: “{name}” is still being run by another process, and the time to wait is \
                 over. Run it again later."
            ));
        }
    }

    /// A person holds all jobs.
    pub(super) fn all_held(&self) {
        if self.saying == Saying::Words {
            render::note("unstuck: all jobs are paused. `unstuck resume` lets them go on.");
        }
    }

    pub(crate) fn ending(&self) {
        if self.saying == Saying::Words {
            render::note("unstuck: ending. Once more to end at once.");
        }
    }

    pub(crate) fn store_waiting(message: &str) {
        render::note(&format!("unstuck: {message}. Nothing happens until that is over."));
    }

    pub(crate) fn store_back() {
        render::note("unstuck: it can be written again. It goes on.");
    }

    /// A person is asked; whether there is such a question to ask.
    pub(crate) async fn question(
        &self,
        id: QuestionId,
        max_wait: Option<Span>,
    ) -> Result<bool, Error> {
        let found = self.store.question(&self.project, id).await?;
        let Some(question) = found else { return Ok(false) };
        if self.saying == Saying::Json {
            let _ = json_line(&mut io::stderr(), &Asked { question });
            return Ok(true);
        }
        let mut lines = vec![String::new(), format!("unstuck: {}", question.text.problem)];
        // Whoever runs commands knows what a branch is, and needs its name.
        if question.why.rule == Rule::RepairProposed {
            lines.push(format!("  {}", question.raw_error));
        }
        for option in &question.text.options {
            lines.push(format!("  {}", words::answer_command(id, option, question.code)));
            lines.push(format!("      {}. {}", option.label, option.description));
        }
        lines.push(match max_wait {
            Some(Span::ZERO) => format!("It is taken up by the next {}.", self.again),
            Some(wait) => format!("It waits for {wait}, then ends; the answer is not lost."),
            None => "It waits here for your answer.".to_owned(),
        });
        render::note(&lines.join("\n"));
        Ok(true)
    }

    /// Where the task stands, as far as the tables know.
    pub(crate) async fn state(&self, task: TaskId) -> Result<Option<TaskState>, Error> {
        let row = project::task(&*self.store, &self.project, task).await?;
        Ok(row.map(|row| row.moved.state))
    }
}
