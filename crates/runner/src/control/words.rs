//! Redaction of the commands of a run's children, which go into the journal.

use std::sync::Arc;

use unstuck_core::engine::{Command, RunNote};
use unstuck_core::plan::MutationSpec;
use unstuck_world::redact::Redactor;

use crate::effects::{redact_fault, redact_value};

/// Returns the command without secrets in its texts. An action is stored unchanged, so one that
/// contains a secret is refused.
pub(super) fn redact_command(
    redactor: &Redactor,
    command: Command,
) -> Result<Command, &'static str> {
    Ok(match command {
        Command::Note { effect, note } => {
            Command::Note { effect, note: redact_note(redactor, note) }
        }
        Command::Raise { effect, fault } => {
            let fault = Arc::new(redact_fault(redactor, &fault));
            Command::Raise { effect, fault }
        }
        Command::Blame { effect, fault } => {
            let fault = Arc::new(redact_fault(redactor, &fault));
            Command::Blame { effect, fault }
        }
        Command::Observe { effect, fault, tree } => {
            let fault = Arc::new(redact_fault(redactor, &fault));
            Command::Observe { effect, fault, tree }
        }
        Command::Mutate { mutation, .. } if has_secret(redactor, &mutation) => {
            return Err("the action holds a secret; name the variable instead");
        }
        other => other,
    })
}

fn redact_note(redactor: &Redactor, note: RunNote) -> RunNote {
    let clean = |text: Arc<str>| Arc::from(&*redactor.redact_text(&text));
    match note {
        RunNote::Thinking => RunNote::Thinking,
        RunNote::ToolCalled { tool, label, running } => {
            let running = running.into_iter().map(clean).collect();
            RunNote::ToolCalled { tool, label: clean(label), running }
        }
        RunNote::Refused { what, why } => RunNote::Refused { what: clean(what), why: clean(why) },
        RunNote::Narrated { text } => RunNote::Narrated { text: clean(text) },
        RunNote::Remarked { text } => RunNote::Remarked { text: clean(text) },
        // The worker has redacted it already.
        checked @ (RunNote::Checked { .. } | RunNote::BaseChecked { .. }) => checked,
    }
}

fn has_secret(redactor: &Redactor, mutation: &MutationSpec) -> bool {
    let kept = serde_json::to_value((&mutation.call, &mutation.look_up));
    kept.is_ok_and(|kept| redact_value(redactor, &kept) != kept)
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
        let note = RunNote::Narrated { text: text.as_str().into() };
        for command in [
            Command::Note { effect, note },
            Command::Raise { effect, fault: Arc::new(fault.clone()) },
            Command::Observe { effect, fault: Arc::new(fault), tree: None },
        ] {
            let clean = redact_command(&redactor, command).unwrap();
            assert!(!format!("{clean:?}").contains("hunter2"), "{clean:?}");
        }
    }

    #[test]
    fn an_action_that_spells_a_secret_out_is_refused() {
        let redactor = Redactor::new([SECRET]);
        let mutate = |body: &str| {
            let call = HttpCall { body: Some(body.to_owned()), ..HttpCall::default() };
            let mutation = MutationSpec::from_call("key", Call::Http(call));
            redact_command(&redactor, Command::Mutate { effect: EffectId(1), mutation })
        };
        assert!(mutate("plain").is_ok());
        assert!(mutate(SECRET).is_err());
    }
}
