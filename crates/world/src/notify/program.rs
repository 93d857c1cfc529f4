//! Channels that run a program for each message, under the guard and with a timeout: one of the
//! operator's, or the system's own for desktop notifications.
//!
//! The operator's program gets the message as JSON on its standard input, and the most important
//! parts as variables, so that one line of shell is enough. An exit code other than 0 means: try
//! again later.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use unstuck_core::fault::Fault;
use unstuck_core::tell::Notification;

use super::chat::{escape_markup, render_chat};
use super::delivery::{DeliveryError, invalid_setting};
use super::settings::CommandSettings;
use super::webhook::encode_payload;
use crate::process::{GuardCommand, Launch, ProcessEnd, ProcessInput};
use crate::provider::find_program;

/// The environment in which programs run.
#[derive(Clone, Debug)]
pub(super) struct ProgramRunner {
    pub(super) guard: GuardCommand,
    /// The lock file; at most one program of a channel runs at a time.
    pub(super) lock: PathBuf,
    pub(super) directory: PathBuf,
}

struct ProgramCall {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    input: Vec<u8>,
    timeout: Duration,
}

impl ProgramRunner {
    /// Runs the program to its end. Any exit code but 0 is a failure.
    async fn run(&self, run: ProgramCall) -> Result<(), DeliveryError> {
        let name = run.program.to_string_lossy().into_owned();
        let mut launch = Launch::new(self.guard.clone(), &self.lock, &self.directory, run.program);
        launch.arguments = run.arguments;
        launch.environment = run.environment;
        launch.input = ProcessInput::Bytes(run.input);
        launch.deadlines.total = Some(run.timeout);
        let process = launch.start().await;
        let process = process.map_err(|fault| DeliveryError::later(fault.message))?;
        let why = match process.wait().await.how {
            ProcessEnd::Exited(0) => return Ok(()),
            ProcessEnd::NotStarted(_) => {
                return Err(DeliveryError::never(format!("{name} cannot be started")));
            }
            ProcessEnd::Exited(status) => format!("{name} ended with {status}"),
            ProcessEnd::Signalled(signal) => format!("{name} was ended by signal {signal}"),
            ProcessEnd::TimedOut { limit, .. } => {
                format!("{name} took longer than {} s", limit.as_secs())
            }
            ProcessEnd::Stopped | ProcessEnd::BeyondLimit(_) | ProcessEnd::Lost { .. } => {
                format!("{name} was ended")
            }
        };
        Err(DeliveryError::later(why))
    }
}

#[derive(Debug)]
pub(super) struct CommandChannel {
    runner: ProgramRunner,
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
}

impl CommandChannel {
    pub(super) fn new(settings: CommandSettings, runner: ProgramRunner) -> Result<Self, Fault> {
        let mut words = settings.run.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program =
            program.ok_or_else(|| invalid_setting("run", "there is no program to run"))?;
        let arguments = words.collect();
        let timeout = settings.timeout_ms.into();
        Ok(Self { runner, program, arguments, timeout })
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
        self.runner.run(run).await
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

/// Maximum number of characters: a screen shows a few lines.
const DESKTOP_CHARS_MAX: usize = 300;
const DESKTOP_TIMEOUT: Duration = Duration::from_secs(15);
/// The program that shows a notification on this system.
const DESKTOP_PROGRAM: &str = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };
/// The script that takes the text as arguments: no part of it is run as a script.
const DESKTOP_SCRIPT: [&str; 3] =
    ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

#[derive(Debug)]
pub(super) struct DesktopChannel {
    runner: ProgramRunner,
    program: Option<PathBuf>,
}

impl DesktopChannel {
    pub(super) fn new(runner: ProgramRunner, path: Option<&OsStr>) -> Self {
        Self { runner, program: find_program(OsStr::new(DESKTOP_PROGRAM), path) }
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let Some(program) = &self.program else {
            return Err(DeliveryError::never(format!("{DESKTOP_PROGRAM} is not installed")));
        };
        let run = ProgramCall {
            program: program.clone().into(),
            arguments: build_desktop_arguments(message, cfg!(target_os = "macos")),
            environment: Vec::new(),
            input: Vec::new(),
            timeout: DESKTOP_TIMEOUT,
        };
        self.runner.run(run).await
    }
}

fn build_desktop_arguments(message: &Notification, mac: bool) -> Vec<OsString> {
    let body = render_chat(message, DESKTOP_CHARS_MAX);
    // The title is shown above it.
    let body = body.strip_prefix(&message.title).unwrap_or(&body).trim_start();
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    if mac {
        let script = DESKTOP_SCRIPT.iter().flat_map(|line| ["-e", line]).collect::<Vec<_>>();
        return [words(&script), words(&[&message.title, body])].concat();
    }
    words(&["--app-name=Unstuck", "--", &message.title, &escape_markup(body)])
}

#[cfg(test)]
mod tests {
    use unstuck_core::time::Time;

    use super::*;

    #[test]
    fn the_words_are_arguments_and_nothing_else() {
        let mut message = Notification::test_message("shop", 1, Time::EPOCH);
        message.title = "--icon=x\" & quit".to_owned();
        let mac = build_desktop_arguments(&message, true);
        assert_eq!(mac.len(), 8);
        assert_eq!(mac[6], "--icon=x\" & quit");
        message.body = "a <b>bold</b> & more".to_owned();
        let linux = build_desktop_arguments(&message, false);
        assert_eq!(linux[1..], ["--", "--icon=x\" & quit", "a &lt;b&gt;bold&lt;/b&gt; &amp; more"]);
    }
}
