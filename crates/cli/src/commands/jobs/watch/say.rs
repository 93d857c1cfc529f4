//! What is said to whoever looks on.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use unstuck_core::engine::{Event, Recorded, Subject, TaskId};
use unstuck_core::time::Time;

use crate::commands::exec::{Saying, Teller};
use crate::error::Error;
use crate::project::{self, Project};
use crate::render::{self, event_json, happened_to_job, when, words};

/// Says it, a line at a time.
#[derive(Clone, Copy)]
pub(super) struct Say<'a> {
    pub(super) project: &'a Project,
    pub(super) voice: Voice,
}

/// To whom it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Voice {
    /// To a person.
    Words,
    /// To a program, which wants events only.
    Json,
    /// To nobody: it is seen elsewhere.
    Silent,
}

impl Say<'_> {
    /// How much is said of questions.
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

    /// Says what a person has to put right, also where the rest is seen elsewhere.
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

    /// Something happened; of jobs that are not among `names` nothing is said.
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
            // The reader is gone; the jobs are not.
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
