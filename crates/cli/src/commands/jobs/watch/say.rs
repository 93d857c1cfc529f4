//! Output of the watcher.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use unstuck_core::engine::{Event, RecordedEvent, Subject, TaskId};
use unstuck_core::time::Time;

use crate::commands::exec::{JobReporter, MessageFormat};
use crate::error::CliError;
use crate::project::{self, LocalProject};
use crate::render::{self, when, words, write_event_json};

/// Writes messages, one line at a time.
#[derive(Clone, Copy)]
pub(super) struct WatchOutput<'a> {
    pub(super) project: &'a LocalProject,
    /// `Quiet` writes only mistakes: the state and the questions are shown elsewhere.
    pub(super) format: MessageFormat,
}

impl WatchOutput<'_> {
    pub(super) fn write_line(&self, line: &str) {
        if self.format == MessageFormat::Words {
            let at = when::render_second(project::now());
            let _ = writeln!(io::stdout(), "{at}  {}", words::plain_line(line));
        }
    }

    /// Reports a mistake that a person has to fix, also with quiet output.
    pub(super) fn write_mistake(&self, line: &str) {
        match self.format {
            MessageFormat::Words => self.write_line(line),
            MessageFormat::Json | MessageFormat::Quiet => {
                let name = self.project.name();
                render::write_note(&format!("unstuck: {name}: {}", words::plain_line(line)));
            }
        }
    }

    pub(super) fn write_begin(&self, jobs: usize, next: Option<Time>) {
        let count = words::render_count(jobs, "job", "jobs");
        let now = project::now();
        let next = next.map_or_else(
            || "none has a schedule; `unstuck jobs run NAME` runs one".to_owned(),
            |next| format!("the next one runs {}", when::render_until(next, now)),
        );
        self.write_line(&format!("{count}; {next}. Ctrl-C ends it."));
    }

    /// Reports an event; events of jobs that are not in `names` are ignored.
    pub(super) async fn write_event(
        &self,
        recorded: &RecordedEvent,
        narration: Option<&str>,
        names: &BTreeMap<TaskId, String>,
        teller: &JobReporter,
    ) -> Result<(), CliError> {
        let Some(name) = recorded.event.subject_ids().task.and_then(|task| names.get(&task)) else {
            return Ok(());
        };
        if self.format == MessageFormat::Quiet {
            return Ok(());
        }
        if self.format == MessageFormat::Json {
            // The reader of the output may be gone; the jobs go on.
            let _ = write_event_json(&mut io::stdout(), self.project.name(), recorded);
            return Ok(());
        }
        if let Some(narration) = narration {
            // A title from a goal does not tell which job of the settings it is.
            let of = if narration.contains(name.as_str()) {
                String::new()
            } else {
                format!(" ({name})")
            };
            self.write_line(&format!("{narration}{of}"));
        }
        match &recorded.event {
            Event::TaskParked { question, .. } => {
                teller.show_question(*question, None).await?;
            }
            Event::QuestionAsked { question } if matches!(question.subject, Subject::Job(_)) => {
                teller.show_question(question.id, None).await?;
            }
            _ => {}
        }
        Ok(())
    }
}
