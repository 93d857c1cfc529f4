//! Nothing that is remembered holds a secret.

use std::sync::Arc;

use serde_json::Value;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::Outcome;
use unstuck_core::fault::{Fault, Kind};
use unstuck_world::redact::Redactor;

/// Takes secrets out of everything that an outcome says.
pub(super) fn outcome(redactor: &Redactor, outcome: &mut Outcome) {
    match outcome {
        Outcome::Failed { fault: met, approach: did } => {
            *met = Arc::new(fault(redactor, met));
            if let Some(did) = did {
                approach(redactor, Arc::make_mut(did));
            }
        }
        Outcome::Attempted { approach: did } => approach(redactor, Arc::make_mut(did)),
        Outcome::Unknown { fault: met } => *met = Arc::new(fault(redactor, met)),
        Outcome::Applied { result } => *result = redactor.text(result).into(),
        Outcome::Done | Outcome::NotApplied | Outcome::CannotTell | Outcome::HeadMoved => {}
    }
}

/// The same fault without secrets in its facts. Its signature stays: it was made of what was seen.
fn fault(redactor: &Redactor, fault: &Fault) -> Fault {
    let written = serde_json::to_value(fault).ok();
    let read = written.and_then(|mut value| {
        clean(redactor, &mut value);
        serde_json::from_value(value).ok()
    });
    read.unwrap_or_else(|| {
        let message = redactor.text(&fault.message).into_owned();
        let source = redactor.text(&fault.source).into_owned();
        let bare = Fault::new(Kind::bare(fault.code()), source, message);
        Fault { signature: fault.signature, origin: fault.origin, ..bare }
    })
}

fn clean(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => *text = redactor.text(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(|value| clean(redactor, value)),
        Value::Object(fields) => fields.values_mut().for_each(|value| clean(redactor, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn approach(redactor: &Redactor, approach: &mut Approach) {
    approach.summary = redactor.text(&approach.summary).into_owned();
    for file in &mut approach.files {
        *file = redactor.text(file).into_owned();
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Validation;

    use super::*;

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
            .caused_by("canary-4711-canary");
        let clean = fault(&redactor, &met);
        assert!(!format!("{clean:?}").contains("canary"), "{clean:?}");
        assert_eq!((clean.code(), clean.signature), (met.code(), met.signature));
        let Kind::ValidationPreCommit(check) = &clean.kind else { panic!("{clean:?}") };
        assert_eq!(check.exit, Some(1));
    }
}
