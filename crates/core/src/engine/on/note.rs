//! Handles `Note`: records an agent's activity, or an observation about its work, for people who
//! watch. A note decides nothing and charges no counter.

use std::sync::Arc;

use crate::engine::checked::RedCheck;
use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::EffectId;
use crate::engine::report::{NOTE_CHARS_MAX, RunNote};
use crate::engine::transition::Transition;

/// Maximum number of commands running at the same time that are recorded.
const RUNNING_MAX: usize = 8;

pub(super) fn handle_note(
    turn: &mut Transition<'_>,
    effect: EffectId,
    note: RunNote,
) -> Result<(), CommandRejection> {
    let run = match &note {
        // A push and a pull request have checks of their own, and an action is told about, too.
        RunNote::Checked { .. } | RunNote::Remarked { .. } => turn.run_behind(effect)?,
        RunNote::Thinking
        | RunNote::ToolCalled { .. }
        | RunNote::Refused { .. }
        | RunNote::Narrated { .. }
        | RunNote::BaseChecked { .. } => turn.run_owed(effect)?,
    };
    let agent = run.step.needs_gate();
    let fits = match &note {
        // The worker that checks the work may comment on it; only an agent thinks and acts.
        RunNote::Thinking
        | RunNote::ToolCalled { .. }
        | RunNote::Refused { .. }
        | RunNote::BaseChecked { .. } => agent,
        RunNote::Narrated { .. } | RunNote::Remarked { .. } => true,
        // An agent never reports check results.
        RunNote::Checked { .. } => !agent,
    };
    if !fits {
        return Err(CommandRejection::Misfit(effect));
    }
    let (run, task) = (run.id, run.task);
    turn.emit_event(match note {
        RunNote::BaseChecked { red } => {
            let build = turn.find_task(task)?.build;
            let red: Vec<RedCheck> = red.into_iter().map(RedCheck::into_bounded).collect();
            let known = turn.state.build(build).map_or(&[][..], |build| &build.red_base[..]);
            // Every attempt reports the base; a red check is recorded once.
            if red.iter().all(|red| known.contains(red)) {
                return Ok(());
            }
            Event::BaseChecked { build, run, red }
        }
        RunNote::Thinking => Event::Thinking { run },
        RunNote::ToolCalled { tool, label, running } => {
            let running = running.into_iter().take(RUNNING_MAX).map(truncate_note).collect();
            Event::ToolCalled { run, tool, label: truncate_note(label), running }
        }
        RunNote::Refused { what, why } => {
            Event::Refused { run, what: truncate_note(what), why: truncate_note(why) }
        }
        RunNote::Narrated { text } => Event::Narrated { run, text: truncate_note(text) },
        RunNote::Remarked { text } => Event::Remarked { run, text: truncate_note(text) },
        RunNote::Checked { checked } => {
            Event::Checked { run, checked: Arc::new(checked.into_bounded()) }
        }
    });
    Ok(())
}

/// Truncates a text to `NOTE_CHARS_MAX` characters, because the journal is not meant for long
/// texts.
fn truncate_note(text: Arc<str>) -> Arc<str> {
    match text.char_indices().nth(NOTE_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
