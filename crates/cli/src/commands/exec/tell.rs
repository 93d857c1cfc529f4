//! What is said beside the command's own output: on standard error, a line at a time.

use std::sync::Arc;

use unstuck_core::engine::{Event, QuestionId, Recorded, TaskId, TaskState};
use unstuck_core::time::Span;
use unstuck_store::Store;

use crate::error::Error;
use crate::project::{self, Project};
use crate::render;

/// Says what happens.
pub(super) struct Teller {
    quiet: bool,
    store: Arc<dyn Store>,
    project: Arc<str>,
}

impl Teller {
    pub(super) fn new(quiet: bool, store: Arc<dyn Store>, project: &Project) -> Self {
        Self { quiet, store, project: Arc::clone(project.name()) }
    }

    /// Something happened to the task, or to everybody.
    pub(super) fn event(&self, task: TaskId, recorded: &Recorded, narration: Option<&str>) {
        let concerns = recorded.event.about().task.is_none_or(|of| of == task);
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
            && !self.quiet
        {
            render::note(&format!("unstuck: {narration}"));
        }
    }

    /// Somebody else runs it just now.
    pub(super) fn in_line(&self, name: &str) {
        if !self.quiet {
            render::note(&format!("unstuck: “{name}” is being run already. It is next."));
        }
    }

    pub(super) fn ending(&self) {
        if !self.quiet {
            render::note("unstuck: ending. Once more to end at once.");
        }
    }

    pub(super) fn store_waiting(message: &str) {
        render::note(&format!("unstuck: {message}. Nothing happens until that is over."));
    }

    pub(super) fn store_back() {
        render::note("unstuck: it can be written again. It goes on.");
    }

    /// A person is asked; whether there is such a question to ask.
    pub(super) async fn question(
        &self,
        id: QuestionId,
        max_wait: Option<Span>,
    ) -> Result<bool, Error> {
        let found = self.store.question(&self.project, id).await?;
        let Some(question) = found else { return Ok(false) };
        let mut lines = vec![String::new(), format!("unstuck: {}", question.text.problem)];
        for option in &question.text.options {
            let (value, label) = (option.value, &option.label);
            lines.push(format!("  unstuck inbox answer {id} {value}"));
            lines.push(format!("      {label}. {}", option.description));
        }
        lines.push(match max_wait {
            Some(Span::ZERO) => "It is taken up by the next `unstuck exec` of it.".to_owned(),
            Some(wait) => format!("It waits for {wait}, then ends; the answer is not lost."),
            None => "It waits here for your answer.".to_owned(),
        });
        render::note(&lines.join("\n"));
        Ok(true)
    }

    /// Where the task stands, as far as the tables know.
    pub(super) async fn state(&self, task: TaskId) -> Result<Option<TaskState>, Error> {
        let row = project::task(&*self.store, &self.project, task).await?;
        Ok(row.map(|row| row.moved.state))
    }
}
