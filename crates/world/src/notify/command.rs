//! A channel that runs a program of the operator's.
//!
//! The program gets the message as JSON on its standard input, and the most important parts as
//! variables, so that one line of shell is enough. An exit code other than 0 means: try again
//! later.

use std::ffi::OsString;
use std::time::Duration;

use unstuck_core::fault::Fault;
use unstuck_core::tell::Message;

use super::payload::payload;
use super::post::invalid;
use super::program::{Room, Run};
use super::settings::CommandSettings;
use super::undelivered::Undelivered;

#[derive(Debug)]
pub(super) struct Command {
    room: Room,
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
}

impl Command {
    pub(super) fn new(settings: CommandSettings, room: Room) -> Result<Self, Fault> {
        let mut words = settings.run.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program = program.ok_or_else(|| invalid("run", "there is no program to run"))?;
        let arguments = words.collect();
        let timeout = settings.timeout_ms.into();
        Ok(Self { room, program, arguments, timeout })
    }

    pub(super) async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        let input = payload(message).map_err(|error| Undelivered::never(error.to_string()))?;
        let run = Run {
            program: self.program.clone().into(),
            arguments: self.arguments.iter().map(OsString::from).collect(),
            environment: variables(message),
            input,
            timeout: self.timeout,
        };
        self.room.run(run).await
    }
}

fn variables(message: &Message) -> Vec<(OsString, Option<OsString>)> {
    let category = message.category.map(|category| category.as_str().to_owned());
    let all = [
        ("UNSTUCK_DELIVERY", Some(message.id.clone())),
        ("UNSTUCK_PROJECT", Some(message.project.clone())),
        ("UNSTUCK_QUESTION", message.question.map(|question| question.to_string())),
        ("UNSTUCK_CATEGORY", category),
        ("UNSTUCK_CODE", message.code.map(|code| code.to_string())),
        ("UNSTUCK_TITLE", Some(message.title.clone())),
        ("UNSTUCK_TEXT", Some(message.words())),
    ];
    let variable = |(name, value): (&str, Option<String>)| (name.into(), value.map(Into::into));
    all.map(variable).into()
}
