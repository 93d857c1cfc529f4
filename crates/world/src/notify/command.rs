//! A channel that runs a program of the operator's.
//!
//! The program gets the message as JSON on its standard input, and the most important parts as
//! variables, so that one line of shell is enough. An exit code other than 0 means: try again
//! later.

use std::ffi::OsString;
use std::time::Duration;

use unstuck_core::fault::Fault;
use unstuck_core::tell::Notification;

use super::payload::encode_payload;
use super::post::invalid_setting;
use super::program::{ProgramCall, ProgramRunner};
use super::settings::CommandSettings;
use super::undelivered::DeliveryError;

#[derive(Debug)]
pub(super) struct CommandChannel {
    room: ProgramRunner,
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
}

impl CommandChannel {
    pub(super) fn new(settings: CommandSettings, room: ProgramRunner) -> Result<Self, Fault> {
        let mut words = settings.run.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program =
            program.ok_or_else(|| invalid_setting("run", "there is no program to run"))?;
        let arguments = words.collect();
        let timeout = settings.timeout_ms.into();
        Ok(Self { room, program, arguments, timeout })
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let input =
            encode_payload(message).map_err(|error| DeliveryError::never(error.to_string()))?;
        let run = ProgramCall {
            program: self.program.clone().into(),
            arguments: self.arguments.iter().map(OsString::from).collect(),
            environment: build_variables(message),
            input,
            timeout: self.timeout,
        };
        self.room.run(run).await
    }
}

fn build_variables(message: &Notification) -> Vec<(OsString, Option<OsString>)> {
    let category = message.category.map(|category| category.as_str().to_owned());
    let all = [
        ("UNSTUCK_DELIVERY", Some(message.id.clone())),
        ("UNSTUCK_PROJECT", Some(message.project.clone())),
        ("UNSTUCK_QUESTION", message.question.map(|question| question.to_string())),
        ("UNSTUCK_CATEGORY", category),
        ("UNSTUCK_CODE", message.code.map(|code| code.to_string())),
        ("UNSTUCK_TITLE", Some(message.title.clone())),
        ("UNSTUCK_TEXT", Some(message.body_with_links())),
    ];
    let variable = |(name, value): (&str, Option<String>)| (name.into(), value.map(Into::into));
    all.map(variable).into()
}
