//! Output of the watcher.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use unstuck_core::engine::{Event, Recorded, Subject, TaskId};
use unstuck_core::time::Time;

use crate::commands::exec::{Saying, Teller};
use crate::error::Error;
use crate::project::{self, Project};
use crate::render::{self, event_json, happened_to_job, when, words};

/// Writes messages, one line at a time.
#[derive(Clone, Copy)]
pub(super) struct Say<'a> {
    pub(super) project: &'a Project,
    pub(super) voice: Voice,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Voice {
    /// Sentences for a person.
    Words,
    /// Only events as JSON, for a program.
    Json,
    /// None: the state is shown elsewhere.
    Silent,
}

impl Say<'_> {
    /// Returns the form of messages about questions.
    pub(super) const fn saying(&self) -> Saying {
        match self.voice {
            Voice::Words => Saying::Words,
            Voice::Json => Saying::Json,
            Voice::Silent => Saying::Quiet,
        }
    }

    pub(super) fn line(&self, line: &str) {
        if self.voice == Voice::Words {
            let at = when::second(project::now());
            let _ = writeln!(io::stdout(), "{at}  {}", words::plain_line(line));
        }
    }

    /// Reports a mistake that a person has to fix, also with silent output.
    pub(super) fn mistake(&self, line: &str) {
        match self.voice {
            Voice::Words => self.line(line),
            Voice::Json | Voice::Silent => {
                let name = self.project.name();
                render::note(&format!("unstuck: {name}: {}", words::plain_line(line)));
            }
        }
    }

    pub(super) fn begun(&self, jobs: usize, next: Option<Time>) {
        let count = words::number(jobs, "job", "jobs");
        let now = project::now();
        let next = next.map_or_else(
            || "none has a time; `unstuck jobs run NAME` runs one".to_owned(),
            |next| format!("the next one runs {}", when::until(next, now)),
        );
        self.line(&format!("{count}; {next}. Ctrl-C ends it."));
    }

    /// Reports an event; events of jobs that are not in `names` are ignored.
    pub(super) async fn news(
        &self,
        recorded: &Recorded,
        narration: Option<&str>,
        names: &BTreeMap<TaskId, String>,
        teller: &Teller,
    ) -> Result<(), Error> {
        let Some(name) = recorded.event.about().task.and_then(|task| names.get(&task)) else {
            return Ok(());
        };
        if self.voice == Voice::Silent {
            return Ok(());
        }
        if self.voice == Voice::Json {
            // The reader of the output may be gone; the jobs go on.
            let _ = event_json(&mut io::stdout(), self.project.name(), recorded);
            return Ok(());
        }
        match (&recorded.event, narration) {
            (Event::TaskParked { question, .. }, _) => {
                self.line(&format!("{name}: needs you"));
                teller.question(*question, None).await?;
            }
            (Event::QuestionAsked { question }, _)
                if matches!(question.subject, Subject::Job(_)) =>
            {
                self.line(&format!("{name}: keeps failing, and goes on trying"));
                teller.question(question.id, None).await?;
            }
            (
                Event::JobFired { .. }
                | Event::JobMissed { .. }
                | Event::JobHeld { .. }
                | Event::JobReleased { .. }
                | Event::TaskBackingOff { .. }
                | Event::TaskDone { .. },
                _,
            ) => {
                let phrase = happened_to_job(recorded, None).unwrap_or_default();
                self.line(&format!("{name}: {phrase}"));
            }
            (Event::RunStarted { .. }, _) | (_, None) => {}
            (_, Some(narration)) => self.line(&format!("{name}: {narration}")),
        }
        Ok(())
    }
}
