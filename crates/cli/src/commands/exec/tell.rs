//! Messages beside the command's own output: on standard error, one line at a time.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use unstuck_core::engine::{Event, QuestionId, RecordedEvent, Rule, RunId, TaskId};
use unstuck_core::time::{Span, Time};
use unstuck_store::Store;
use unstuck_store::tables::{QuestionRow, TaskChange};

use crate::error::CliError;
use crate::project::{self, LocalProject};
use crate::render::{self, when, words, write_event_json, write_json_line};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageFormat {
    /// Sentences about all events, for a person.
    Words,
    /// Only what a person has to act on.
    Quiet,
    /// Each event as JSON, for a program.
    Json,
}

impl MessageFormat {
    pub(crate) const fn new(json: bool, quiet: bool) -> Self {
        match (json, quiet) {
            (true, _) => Self::Json,
            (_, true) => Self::Quiet,
            _ => Self::Words,
        }
    }
}

const AFTER_CRASH: &str = "Unstuck was interrupted during the last run; running it again.";

#[derive(Serialize)]
struct QuestionMessage {
    question: QuestionRow,
}

pub(crate) struct JobReporter {
    saying: MessageFormat,
    store: Arc<dyn Store>,
    project: Arc<str>,
    /// The command that continues the job.
    again: String,
    /// The latest run of the task, as far as known from events.
    run: Mutex<Option<RunId>>,
}

impl JobReporter {
    pub(crate) fn new(
        saying: MessageFormat,
        store: Arc<dyn Store>,
        project: &LocalProject,
    ) -> Self {
        let again = "it".to_owned();
        Self { saying, store, project: Arc::clone(project.name()), again, run: Mutex::new(None) }
    }

    /// Adapts the messages to a command that `exec` runs, as a shell would read it.
    pub(super) fn for_command(self, line: &str) -> Self {
        Self { again: format!("`{line}`"), ..self }
    }

    /// Adapts the messages to a job of the settings.
    pub(crate) fn for_job(self, name: &str) -> Self {
        Self { again: format!("`unstuck jobs run {name}`"), ..self }
    }

    /// Reports an event that is about the task, or about no single task.
    pub(crate) fn report_event(
        &self,
        task: TaskId,
        recorded: &RecordedEvent,
        narration: Option<&str>,
    ) {
        let concerns = self.is_about(task, &recorded.event);
        if self.saying == MessageFormat::Json && concerns {
            // The reader of standard error may be gone; the command goes on.
            let _ = write_event_json(&mut io::stderr(), &self.project, recorded);
        }
        // The start and the end need no message, and a question gets a longer one. The build of jobs never
        // ends, so the end of a build is that of another one.
        let plain = matches!(
            recorded.event,
            Event::RunStarted { .. }
                | Event::TaskDone { .. }
                | Event::QuestionAsked { .. }
                | Event::JobMissed { .. }
                | Event::JobHeld { .. }
                | Event::JobReleased { .. }
                | Event::BuildCompleted { .. }
                | Event::BuildFailed { .. }
                | Event::BuildCancelled { .. }
        );
        // A command has no place to continue from.
        let is_after_crash = matches!(recorded.event, Event::TaskReady { .. })
            && recorded.why.as_ref().is_some_and(|why| why.rule == Rule::RecoveredAfterCrash);
        let narration = if is_after_crash { Some(AFTER_CRASH) } else { narration };
        if let Some(narration) = narration
            && concerns
            && !plain
        {
            self.write_words(narration);
        }
    }

    /// Returns whether an event is about the task, or about no task at all.
    fn is_about(&self, task: TaskId, event: &Event) -> bool {
        let mut own = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::RunStarted { run, task: of, .. } = event
            && *of == task
        {
            *own = Some(*run);
        }
        let about = event.subject_ids();
        match (about.task, about.run) {
            (Some(of), _) => of == task,
            (None, Some(run)) => own.is_none_or(|own| own == run),
            (None, None) => true,
        }
    }

    /// Reports that another process currently runs the job.
    pub(crate) fn report_queued(&self, name: &str) {
        self.write_words(&format!("“{name}” is being run already. It is next."));
    }

    /// Reports that another process still runs the job at the end of the wait.
    pub(super) fn report_still_queued(&self, name: &str) {
        self.write_words(&format!(
            "“{name}” is still being run by another process, and the time to wait is over. Run it \
             again later."
        ));
    }

    /// Reports that an account or a service is limited for longer than the maximum wait.
    pub(super) fn report_limited(&self, until: Option<Time>) {
        let until = until.map_or_else(String::new, |until| {
            format!(" {}", when::render_until(until, project::now()))
        });
        self.write_words(&format!(
            "the next try is possible{until}, after --max-wait. Run {} again then.",
            self.again
        ));
    }

    pub(super) fn report_all_paused(&self) {
        self.write_words("all jobs are paused. `unstuck resume` continues them.");
    }

    pub(crate) fn report_ending(&self) {
        self.write_words("Stopping. Press Ctrl-C again to stop immediately.");
    }

    fn write_words(&self, sentence: &str) {
        if self.saying == MessageFormat::Words {
            render::write_note(&format!("unstuck: {sentence}"));
        }
    }

    pub(crate) fn report_store_waiting(message: &str) {
        render::write_note(&format!("unstuck: {message}. Work waits until this is fixed."));
    }

    pub(crate) fn report_lost_output(reason: &str) {
        render::write_note(&format!("unstuck: output of the command was lost: {reason}."));
    }

    pub(crate) fn report_store_back() {
        render::write_note("unstuck: the store can be written again; work continues.");
    }

    /// Shows a question; returns whether it is in the store.
    pub(crate) async fn show_question(
        &self,
        id: QuestionId,
        max_wait: Option<Span>,
    ) -> Result<bool, CliError> {
        let found = self.store.load_question(&self.project, id).await?;
        let Some(question) = found else { return Ok(false) };
        if self.saying == MessageFormat::Json {
            let _ = write_json_line(&mut io::stderr(), &QuestionMessage { question });
            return Ok(true);
        }
        let mut lines = vec![String::new(), format!("unstuck: {}", question.text.problem)];
        // The user of a command line knows branches, and needs the name of this one.
        if question.why.rule == Rule::RepairProposed {
            lines.push(format!("  {}", question.raw_error));
        }
        for option in &question.text.options {
            lines.push(format!("  {}", words::answer_command(id, option, question.code)));
            lines.push(format!("      {}. {}", option.label, option.description));
        }
        // Nothing waits for the answer to a question about a job that keeps its schedule.
        if question.why.rule != Rule::KeepsFailing {
            lines.push(match max_wait {
                Some(Span::ZERO) => {
                    format!("Your answer takes effect when you run {} again.", self.again)
                }
                Some(wait) => format!("It waits for {wait}, then ends; the answer is not lost."),
                None => "It waits here for your answer.".to_owned(),
            });
        }
        render::write_note(&lines.join("\n"));
        Ok(true)
    }

    pub(crate) async fn load_change(&self, task: TaskId) -> Result<Option<TaskChange>, CliError> {
        let row = project::find_task(&*self.store, &self.project, task).await?;
        Ok(row.map(|row| row.moved))
    }
}
