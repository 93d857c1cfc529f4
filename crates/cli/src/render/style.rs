//! The few styles there are. They carry meaning twice: nothing is said by colour alone.

use anstyle::{AnsiColor, Style};
use unstuck_core::engine::Event;

/// A heading.
pub(crate) const TITLE: Style = Style::new().bold();
/// A code, a command, a literal.
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
/// Stressed.
pub(crate) const STRONG: Style = Style::new().bold();
/// Of less interest.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What went wrong.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// What to do about it.
pub(crate) const HINT: Style = AnsiColor::Green.on_default().bold();

/// The sign in front of a line; it only repeats what the sentence says.
pub(crate) const fn mark(event: &Event) -> (&'static str, Style) {
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
