//! A desktop notification, shown by the system's own program for it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use unstuck_core::tell::Notification;

use super::payload::render_chat;
use super::program::{ProgramCall, ProgramRunner};
use super::undelivered::DeliveryError;
use crate::provider::find_program;

/// Maximum number of characters: a screen shows a few lines.
const TEXT_CHARS_MAX: usize = 300;
const TIMEOUT: Duration = Duration::from_secs(15);
/// The program that shows a notification on this system.
const PROGRAM: &str = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };
/// The script that takes the text as arguments: no part of it is run as a script.
const SCRIPT: [&str; 3] =
    ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

#[derive(Debug)]
pub(super) struct DesktopChannel {
    room: ProgramRunner,
    program: Option<PathBuf>,
}

impl DesktopChannel {
    pub(super) fn new(room: ProgramRunner, path: Option<&OsStr>) -> Self {
        Self { room, program: find_program(OsStr::new(PROGRAM), path) }
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let Some(program) = &self.program else {
            return Err(DeliveryError::never(format!("{PROGRAM} is not installed")));
        };
        let run = ProgramCall {
            program: program.clone().into(),
            arguments: build_arguments(message, cfg!(target_os = "macos")),
            environment: Vec::new(),
            input: Vec::new(),
            timeout: TIMEOUT,
        };
        self.room.run(run).await
    }
}

fn build_arguments(message: &Notification, mac: bool) -> Vec<OsString> {
    let body = render_chat(message, TEXT_CHARS_MAX);
    // The title is shown above it.
    let body = body.strip_prefix(&message.title).unwrap_or(&body).trim_start();
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    if mac {
        let script = SCRIPT.iter().flat_map(|line| ["-e", line]).collect::<Vec<_>>();
        return [words(&script), words(&[&message.title, body])].concat();
    }
    words(&["--app-name=Unstuck", "--", &message.title, &escape_markup(body)])
}

/// Escapes the body, which may contain markup.
fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use unstuck_core::time::Time;

    use super::*;

    #[test]
    fn the_words_are_arguments_and_nothing_else() {
        let mut message = Notification::test_message("shop", 1, Time::EPOCH);
        message.title = "--icon=x\" & quit".to_owned();
        let mac = build_arguments(&message, true);
        assert_eq!(mac.len(), 8);
        assert_eq!(mac[6], "--icon=x\" & quit");
        message.body = "a <b>bold</b> & more".to_owned();
        let linux = build_arguments(&message, false);
        assert_eq!(linux[1..], ["--", "--icon=x\" & quit", "a &lt;b&gt;bold&lt;/b&gt; &amp; more"]);
    }
}
