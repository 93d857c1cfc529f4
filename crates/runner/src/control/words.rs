//! Redaction of the commands of a run's children, which go into the journal.

use std::sync::Arc;

use unstuck_core::engine::{Command, Note};
use unstuck_core::plan::MutationSpec;
use unstuck_world::redact::Redactor;

use crate::clean;

/// Returns the command without secrets in its texts. An action is stored unchanged, so one that
/// contains a secret is refused.
pub(super) fn redacted(redactor: &Redactor, command: Command) -> Result<Command, &'static str> {
    Ok(match command {
        Command::Note { effect, note } => Command::Note { effect, note: noted(redactor, note) },
        Command::Raise { effect, fault } => {
            let fault = Arc::new(clean::fault(redactor, &fault));
            Command::Raise { effect, fault }
        }
        Command::Blame { effect, fault } => {
            let fault = Arc::new(clean::fault(redactor, &fault));
            Command::Blame { effect, fault }
        }
        Command::Observe { effect, fault, tree } => {
            let fault = Arc::new(clean::fault(redactor, &fault));
            Command::Observe { effect, fault, tree }
        }
        Command::Mutate { mutation, .. } if holds_secret(redactor, &mutation) => {
            return Err("the action holds a secret; name the variable instead");
        }
        other => other,
    })
}

fn noted(redactor: &Redactor, note: Note) -> Note {
    let clean = |text: Arc<str>| Arc::from(&*redactor.text(&text));
    match note {
        Note::Thinking => Note::Thinking,
        Note::ToolCalled { tool, label, running } => {
            let running = running.into_iter().map(clean).collect();
            Note::ToolCalled { tool, label: clean(label), running }
        }
        Note::Refused { what, why } => Note::Refused { what: clean(what), why: clean(why) },
        Note::Narrated { text } => Note::Narrated { text: clean(text) },
        Note::Remarked { text } => Note::Remarked { text: clean(text) },
        // The worker has redacted it already.
        checked @ (Note::Checked { .. } | Note::BaseChecked { .. }) => checked,
    }
}

fn holds_secret(redactor: &Redactor, mutation: &MutationSpec) -> bool {
    let kept = serde_json::to_value((&mutation.call, &mutation.look_up));
    kept.is_ok_and(|kept| clean::value(redactor, &kept) != kept)
}

#[cfg(test)]
mod tests {
    use unstuck_core::engine::EffectId;
    use unstuck_core::fault::{Fault, Input};
    use unstuck_core::plan::{Call, HttpCall};

    use super::*;

    const SECRET: &str = "hunter2-hunter2";

    // TX16
    #[test]
    fn nothing_that_is_kept_holds_a_secret() {
        let redactor = Redactor::new([SECRET]);
        let effect = EffectId(1);
        let text = format!("I use {SECRET}");
        let fault = Fault::precondition_input(
            "agent",
            text.clone(),
            Input { asked: text.clone(), ..Input::default() },
        );
        let note = Note::Narrated { text: text.as_str().into() };
        for command in [
            Command::Note { effect, note },
            Command::Raise { effect, fault: Arc::new(fault.clone()) },
            Command::Observe { effect, fault: Arc::new(fault), tree: None },
        ] {
            let clean = redacted(&redactor, command).unwrap();
            assert!(!format!("{clean:?}").contains("hunter2"), "{clean:?}");
        }
    }

    #[test]
    fn an_action_that_spells_a_secret_out_is_refused() {
        let redactor = Redactor::new([SECRET]);
        let mutate = |body: &str| {
            let call = HttpCall { body: Some(body.to_owned()), ..HttpCall::default() };
            let mutation = MutationSpec::calling("key", Call::Http(call));
            redacted(&redactor, Command::Mutate { effect: EffectId(1), mutation })
        };
        assert!(mutate("plain").is_ok());
        assert!(mutate(SECRET).is_err());
    }
}
