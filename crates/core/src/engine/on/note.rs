//! Handles `Note`: records an agent's activity, or an observation about its work, for people who
//! watch. A note decides nothing and charges no counter.

use std::sync::Arc;

use crate::engine::checked::RedCheck;
use crate::engine::command::{NOTE_CHARS_MAX, Note, Rejected};
use crate::engine::event::Event;
use crate::engine::ids::EffectId;
use crate::engine::turn::Turn;

/// Maximum number of commands running at the same time that are recorded.
const RUNNING_MAX: usize = 8;

pub(super) fn on(turn: &mut Turn<'_>, effect: EffectId, note: Note) -> Result<(), Rejected> {
    let run = match &note {
        // A push and a pull request have checks of their own.
        Note::Checked { .. } => turn.run_behind(effect)?,
        Note::Thinking
        | Note::ToolCalled { .. }
        | Note::Refused { .. }
        | Note::Narrated { .. }
        | Note::Remarked { .. }
        | Note::BaseChecked { .. } => turn.run_owed(effect)?,
    };
    let agent = run.step.needs_gate();
    let fits = match &note {
        // The worker that checks the work may comment on it; only an agent thinks and acts.
        Note::Thinking
        | Note::ToolCalled { .. }
        | Note::Refused { .. }
        | Note::BaseChecked { .. } => agent,
        Note::Narrated { .. } | Note::Remarked { .. } => true,
        // An agent never reports check results.
        Note::Checked { .. } => !agent,
    };
    if !fits {
        return Err(Rejected::Misfit(effect));
    }
    let (run, task) = (run.id, run.task);
    turn.emit(match note {
        Note::BaseChecked { red } => {
            let build = turn.task(task)?.build;
            let red: Vec<RedCheck> = red.into_iter().map(RedCheck::bounded).collect();
            let known = turn.state.build(build).map_or(&[][..], |build| &build.red_base[..]);
            // Every attempt reports the base; a red check is recorded once.
            if red.iter().all(|red| known.contains(red)) {
                return Ok(());
            }
            Event::BaseChecked { build, run, red }
        }
        Note::Thinking => Event::Thinking { run },
        Note::ToolCalled { tool, label, running } => {
            let running = running.into_iter().take(RUNNING_MAX).map(short).collect();
            Event::ToolCalled { run, tool, label: short(label), running }
        }
        Note::Refused { what, why } => Event::Refused { run, what: short(what), why: short(why) },
        Note::Narrated { text } => Event::Narrated { run, text: short(text) },
        Note::Remarked { text } => Event::Remarked { run, text: short(text) },
        Note::Checked { checked } => Event::Checked { run, checked: Arc::new(checked.bounded()) },
    });
    Ok(())
}

/// Truncates a text to `NOTE_CHARS_MAX` characters, because the journal is not meant for long
/// texts.
fn short(text: Arc<str>) -> Arc<str> {
    match text.char_indices().nth(NOTE_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
