//! Shared parts of the verbs that control a build: they send a command to the decider, this process or the
//! holder, and print in one line the effect and the next step.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::CommandError;
use unstuck_runner::control::{ClientError, Refusal};
use unstuck_store::Store;

use crate::error::Error;
use crate::project::{Line, Project};
use crate::render::{self, Terminal};

/// A project under the control of a verb.
pub(super) struct Control<'a> {
    pub(super) project: Project,
    pub(super) store: Arc<dyn Store>,
    terminal: &'a Terminal,
    verb: &'static str,
    json: bool,
}

/// The events of a command.
pub(super) struct Sent {
    pub(super) events: Vec<Recorded>,
    /// Set if another process holds the project and acts on the events.
    pub(super) held: bool,
}

impl Sent {
    /// Returns the sentence that states when the work goes on.
    pub(super) const fn follows(&self) -> &'static str {
        if self.held { "It goes on now." } else { "It goes on at the next start." }
    }
}

impl<'a> Control<'a> {
    pub(super) fn open(
        dir: Option<&Path>,
        terminal: &'a Terminal,
        verb: &'static str,
        json: bool,
    ) -> Result<Self, Error> {
        let project = Project::find(dir)?;
        let store = project.store()?;
        Ok(Self { project, store, terminal, verb, json })
    }

    /// Sends a command. A rejection becomes an error whose hint the caller adds with [`hinted`].
    pub(super) async fn send(&self, command: Command) -> Result<Sent, Error> {
        let line = Line::open(&self.project, &self.store, self.verb).await?;
        let decided = line.command(command).await;
        let held = line.is_held();
        line.close().await?;
        let events = decided.map_err(|error| self.not_now(error))?;
        Ok(Sent { events, held })
    }

    /// Sends several commands and skips those that are rejected; returns how many were accepted.
    pub(super) async fn send_all(&self, commands: Vec<Command>) -> Result<(Sent, usize), Error> {
        let line = Line::open(&self.project, &self.store, self.verb).await?;
        let mut events = Vec::new();
        let mut done = 0;
        let mut failed = None;
        for command in commands {
            match line.command(command).await {
                Ok(more) => {
                    events.extend(more);
                    done += 1;
                }
                Err(error) if said_no(&error).is_some() => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let held = line.is_held();
        line.close().await?;
        failed.map_or(Ok((Sent { events, held }, done)), Err)
    }

    /// Prints the result, or writes the events as JSON.
    pub(super) fn tell(&self, sent: &Sent, said: &str) -> Result<(), Error> {
        let mut out = self.terminal.styled();
        if self.json {
            render::json(&mut out, &sent.events)?;
        } else {
            writeln!(out, "{said}")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Returns whether the operator confirms: with `--yes` beforehand, or at the prompt.
    pub(super) fn agreed(&self, yes: bool, question: &str) -> Result<bool, Error> {
        if yes {
            return Ok(true);
        }
        let agreed = render::agreed(self.terminal, self.verb, question)?;
        if !agreed {
            let mut out = self.terminal.styled();
            writeln!(out, "Nothing was changed.")?;
            out.flush()?;
        }
        Ok(agreed)
    }

    fn not_now(&self, error: Error) -> Error {
        match said_no(&error) {
            Some(said) => Error::NotNow { verb: self.verb, said, hint: String::new() },
            None => error,
        }
    }
}

/// Adds the next step to a rejection.
pub(super) fn hinted(error: Error, next: &str) -> Error {
    match error {
        Error::NotNow { verb, said, .. } => Error::NotNow { verb, said, hint: next.to_owned() },
        other => other,
    }
}

/// Returns the message of a rejection by the decider, this process or another.
pub(super) fn said_no(error: &Error) -> Option<String> {
    match error {
        Error::Command(CommandError::Rejected(rejected)) => Some(rejected.to_string()),
        Error::Refused(ClientError::Refused { why: Refusal::Rejected, message }) => {
            Some(message.clone())
        }
        _ => None,
    }
}
