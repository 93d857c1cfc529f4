//! Redaction of secrets in structured values: faults, JSON, outcomes, and the commands of a run's
//! children.

use std::sync::Arc;

use serde_json::Value;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Command, EffectOutcome, RunNote};
use unstuck_core::fault::{Fault, Kind};
use unstuck_core::plan::MutationSpec;
use unstuck_world::redact::Redactor;

/// Maximum length of a text in a recorded input. Longer texts are replaced by their hash: an input
/// has to be recognized, not kept.
const TEXT_BYTES_MAX: usize = 1_024;

/// Returns the fault without secrets in any of its texts. Its signature stays the same.
pub(crate) fn redact_fault(redactor: &Redactor, fault: &Fault) -> Fault {
    let written = serde_json::to_value(fault);
    let read = written.and_then(|written| serde_json::from_value(redact_value(redactor, &written)));
    read.unwrap_or_else(|error| {
        tracing::warn!(%error, code = %fault.code(), "the context of a fault cannot be redacted");
        // Without a round trip through JSON only the redacted message and source are kept.
        let message = redactor.redact_text(&fault.message).into_owned();
        let source = redactor.redact_text(&fault.source).into_owned();
        let bare = Fault::new(Kind::bare(fault.code()), source, message);
        Fault { signature: fault.signature, origin: fault.origin, ..bare }
    })
}

/// Returns the value without secrets in any of its texts.
pub(crate) fn redact_value(redactor: &Redactor, from: &Value) -> Value {
    map_strings(from, &|text| redactor.redact_text(text).into_owned())
}

/// Returns the input of a tool as an action records it: redacted, and with long texts replaced by
/// their hash.
pub(crate) fn redact_tool_input(redactor: &Redactor, input: &Value) -> String {
    let brief = |text: &str| {
        let clean = redactor.redact_text(text);
        if clean.len() <= TEXT_BYTES_MAX {
            return clean.into_owned();
        }
        format!("[{} bytes: {}]", clean.len(), &blake3::hash(clean.as_bytes()).to_hex()[..32])
    };
    map_strings(input, &brief).to_string()
}

/// Returns the value with `text` applied to each of its strings. Recursion depth is bounded by the
/// parser that produced the value.
fn map_strings(from: &Value, text: &impl Fn(&str) -> String) -> Value {
    match from {
        Value::String(found) => Value::String(text(found)),
        Value::Array(values) => values.iter().map(|value| map_strings(value, text)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), map_strings(value, text))).collect()
        }
        other => other.clone(),
    }
}

/// Returns the command of a run's child, which goes into the journal, without secrets in its texts.
/// An action is stored unchanged, so one that contains a secret is refused.
pub(crate) fn redact_command(
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

/// Redacts all texts of an outcome.
pub(crate) fn redact_outcome(redactor: &Redactor, outcome: &mut EffectOutcome) {
    match outcome {
        EffectOutcome::Failed { fault: met, approach: did } => {
            *met = Arc::new(redact_fault(redactor, met));
            if let Some(did) = did {
                redact_approach(redactor, Arc::make_mut(did));
            }
        }
        EffectOutcome::Attempted { approach: did }
        | EffectOutcome::Repaired { approach: did, .. } => {
            redact_approach(redactor, Arc::make_mut(did));
        }
        EffectOutcome::Unknown { fault: met } => {
            *met = Arc::new(redact_fault(redactor, met));
        }
        EffectOutcome::Applied { result } => *result = redactor.redact_text(result).into(),
        EffectOutcome::CannotTell { said: Some(said) } => *said = redactor.redact_text(said).into(),
        EffectOutcome::Done
        | EffectOutcome::NotApplied
        | EffectOutcome::CannotTell { said: None }
        | EffectOutcome::HeadMoved => {}
    }
}

fn redact_approach(redactor: &Redactor, approach: &mut Approach) {
    approach.summary = redactor.redact_text(&approach.summary).into_owned();
    for file in &mut approach.files {
        *file = redactor.redact_text(file).into_owned();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unstuck_core::engine::EffectId;
    use unstuck_core::fault::{Code, Input, Tool, Validation};
    use unstuck_core::plan::{Call, HttpCall};

    use super::*;

    // TX16
    #[test]
    fn a_fault_keeps_everything_but_its_secrets() {
        let redactor = Redactor::new(["hunter2-hunter2"]);
        let context = Tool { command: Some("curl -u a:hunter2-hunter2".into()), ..Tool::default() };
        let before = Fault::tool_access_denied("shell", "no: hunter2-hunter2", context)
            .with_cause("hunter2-hunter2");
        let after = redact_fault(&redactor, &before);
        assert_eq!((after.code(), after.signature), (Code::ToolAccessDenied, before.signature));
        assert!(!format!("{after:?}").contains("hunter2"), "{after:?}");
        let Kind::ToolAccessDenied(tool) = after.kind else { panic!("{after}") };
        assert_eq!(tool.command.as_deref(), Some("curl -u a:[redacted]"));
    }

    #[test]
    fn an_input_is_known_by_what_it_holds_however_long() {
        let brief = |content: &str| {
            redact_tool_input(&Redactor::default(), &json!({"path": "a", "content": content}))
        };
        let one = "x".repeat(5_000);
        let other = "y".repeat(5_000);
        assert_eq!(brief(&one), brief(&one));
        assert_ne!(brief(&one), brief(&other));
        assert!(brief(&one).len() < 200 && brief(&one).contains(r#""path":"a""#));
    }

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

    // TX16
    #[test]
    fn a_secret_is_taken_out_of_every_fact_and_the_error_stays_the_same() {
        let redactor = Redactor::new(["canary-4711-canary"]);
        let context = Validation {
            command: "echo canary-4711-canary".to_owned(),
            exit: Some(1),
            output: "token canary-4711-canary was refused".to_owned(),
        };
        let met = Fault::validation_pre_commit("validate:pre_commit#1", "red", context)
            .with_cause("canary-4711-canary");
        let mut outcome = EffectOutcome::Failed { fault: Arc::new(met.clone()), approach: None };
        redact_outcome(&redactor, &mut outcome);
        let EffectOutcome::Failed { fault: clean, .. } = outcome else { panic!("{outcome:?}") };
        assert!(!format!("{clean:?}").contains("canary"), "{clean:?}");
        assert_eq!((clean.code(), clean.signature), (met.code(), met.signature));
        let Kind::ValidationPreCommit(check) = &clean.kind else { panic!("{clean:?}") };
        assert_eq!(check.exit, Some(1));
    }
}
