//! The text styles. Each only repeats a meaning that the text has too: no information is in color alone.

use anstyle::{AnsiColor, Style};
use unstuck_core::engine::Event;

/// A heading.
pub(crate) const TITLE: Style = Style::new().bold();
/// A code, a command, a literal.
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
/// Emphasized text.
pub(crate) const STRONG: Style = Style::new().bold();
/// Text of less interest.
pub(crate) const DIM: Style = Style::new().dimmed();
/// The message of an error.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// A next step.
pub(crate) const HINT: Style = AnsiColor::Green.on_default().bold();

/// Returns the sign in front of an event's line; it only repeats the sentence.
pub(crate) const fn event_mark(event: &Event) -> (&'static str, Style) {
    match event {
        Event::TaskDone { .. } | Event::BuildCompleted { .. } => ("✔", HINT),
        Event::Retrying { .. } | Event::FaultMet { .. } => ("↻", CODE),
        Event::TaskParked { .. } | Event::QuestionJoined { .. } => ("⏸", ERROR),
        Event::GateWaiting { .. } | Event::TaskBackingOff { .. } | Event::Sleeping { .. } => {
            ("◷", CODE)
        }
        Event::TaskSkipped { .. } | Event::TaskFailed { .. } => ("✘", ERROR),
        Event::TaskReconciling { .. } | Event::MutationReconciled { .. } => ("?", CODE),
        _ => ("▸", DIM),
    }
}
