//! What an agent is doing, or what was seen of its work, for whoever looks on. It decides nothing and
//! moves no counter.

use std::sync::Arc;

use crate::engine::checked::RedCheck;
use crate::engine::command::{NOTE_CHARS_MAX, Note, Rejected};
use crate::engine::event::Event;
use crate::engine::ids::EffectId;
use crate::engine::turn::Turn;

pub(super) fn on(turn: &mut Turn<'_>, effect: EffectId, note: Note) -> Result<(), Rejected> {
    let run = match &note {
        // A push and a pull request have checks of their own.
        Note::Checked { .. } => turn.run_behind(effect)?,
        Note::Thinking
        | Note::ToolCalled { .. }
        | Note::Narrated { .. }
        | Note::BaseChecked { .. } => turn.run_owed(effect)?,
    };
    let agent = run.step.needs_gate();
    let fits = match &note {
        // Whoever checks the work may have something to say about it; only an agent thinks and acts.
        Note::Thinking | Note::ToolCalled { .. } | Note::BaseChecked { .. } => agent,
        Note::Narrated { .. } => true,
        // No agent tells what the checks said.
        Note::Checked { .. } => !agent,
    };
    if !fits {
        return Err(Rejected::Misfit(effect));
    }
    let (run, task) = (run.id, run.task);
    turn.emit(match note {
        Note::BaseChecked { red } => {
            let build = turn.task(task)?.build;
            let red = red.into_iter().map(RedCheck::bounded).collect();
            Event::BaseChecked { build, run, red }
        }
        Note::Thinking => Event::Thinking { run },
        Note::ToolCalled { tool, label } => Event::ToolCalled { run, tool, label: short(label) },
        Note::Narrated { text } => Event::Narrated { run, text: short(text) },
        Note::Checked { checked } => Event::Checked { run, checked: Arc::new(checked.bounded()) },
    });
    Ok(())
}

/// The journal is no place for a novel.
fn short(text: Arc<str>) -> Arc<str> {
    match text.char_indices().nth(NOTE_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
