//! Shared parts of the verbs that control a build: they send a command to the decider, this process or the
//! holder, and print in one line the effect and the next step.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, RecordedEvent};
use unstuck_runner::CommandError;
use unstuck_runner::control::{ClientError, ControlRefusal};
use unstuck_store::Store;

use crate::error::CliError;
use crate::project::{CommandConnection, LocalProject};
use crate::render::{self, Terminal};

/// A project under the control of a verb.
pub(super) struct ControlSession<'a> {
    pub(super) project: LocalProject,
    pub(super) store: Arc<dyn Store>,
    terminal: &'a Terminal,
    verb: &'static str,
    json: bool,
}

/// The events of a command.
pub(super) struct CommandEvents {
    pub(super) events: Vec<RecordedEvent>,
    /// Set if another process holds the project and acts on the events.
    pub(super) held: bool,
}

impl CommandEvents {
    /// Returns the sentence that states when the work goes on.
    pub(super) const fn render_continuation(&self) -> &'static str {
        if self.held { "It goes on now." } else { "It goes on at the next start." }
    }
}

impl<'a> ControlSession<'a> {
    pub(super) fn open(
        dir: Option<&Path>,
        terminal: &'a Terminal,
        verb: &'static str,
        json: bool,
    ) -> Result<Self, CliError> {
        let project = LocalProject::find(dir)?;
        let store = project.open_store()?;
        Ok(Self { project, store, terminal, verb, json })
    }

    /// Sends a command. A rejection becomes an error whose hint the caller adds with [`with_hint`].
    pub(super) async fn submit_command(&self, command: Command) -> Result<CommandEvents, CliError> {
        let line = CommandConnection::open(&self.project, &self.store, self.verb).await?;
        let decided = line.submit_command(command).await;
        let held = line.is_held();
        line.close().await?;
        let events = decided.map_err(|error| self.to_not_now_error(error))?;
        Ok(CommandEvents { events, held })
    }

    /// Sends several commands and skips those that are rejected; returns how many were accepted.
    pub(super) async fn submit_all(
        &self,
        commands: Vec<Command>,
    ) -> Result<(CommandEvents, usize), CliError> {
        let line = CommandConnection::open(&self.project, &self.store, self.verb).await?;
        let mut events = Vec::new();
        let mut done = 0;
        let mut failed = None;
        for command in commands {
            match line.submit_command(command).await {
                Ok(more) => {
                    events.extend(more);
                    done += 1;
                }
                Err(error) if rejection_message(&error).is_some() => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let held = line.is_held();
        line.close().await?;
        failed.map_or(Ok((CommandEvents { events, held }, done)), Err)
    }

    /// Prints the result, or writes the events as JSON.
    pub(super) fn write_result(&self, sent: &CommandEvents, said: &str) -> Result<(), CliError> {
        let mut out = self.terminal.styled();
        if self.json {
            render::write_json(&mut out, &sent.events)?;
        } else {
            writeln!(out, "{said}")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Returns whether the operator confirms: with `--yes` beforehand, or at the prompt.
    pub(super) fn ask_confirmation(&self, yes: bool, question: &str) -> Result<bool, CliError> {
        if yes {
            return Ok(true);
        }
        let agreed = render::ask_confirmation(self.terminal, self.verb, question)?;
        if !agreed {
            let mut out = self.terminal.styled();
            writeln!(out, "Nothing was changed.")?;
            out.flush()?;
        }
        Ok(agreed)
    }

    fn to_not_now_error(&self, error: CliError) -> CliError {
        match rejection_message(&error) {
            Some(said) => CliError::NotNow { verb: self.verb, said, hint: String::new() },
            None => error,
        }
    }
}

/// Adds the next step to a rejection.
pub(super) fn with_hint(error: CliError, next: &str) -> CliError {
    match error {
        CliError::NotNow { verb, said, .. } => {
            CliError::NotNow { verb, said, hint: next.to_owned() }
        }
        other => other,
    }
}

/// Returns the message of a rejection by the decider, this process or another.
pub(super) fn rejection_message(error: &CliError) -> Option<String> {
    match error {
        CliError::Command(CommandError::Rejected(rejected)) => Some(rejected.to_string()),
        CliError::Refused(ClientError::Refused { why: ControlRefusal::Rejected, message }) => {
            Some(message.clone())
        }
        _ => None,
    }
}
