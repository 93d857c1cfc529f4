//! Redaction of recorded outcomes.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::Outcome;
use unstuck_world::redact::Redactor;

use crate::clean;

/// Redacts all texts of an outcome.
pub(super) fn outcome(redactor: &Redactor, outcome: &mut Outcome) {
    match outcome {
        Outcome::Failed { fault: met, approach: did } => {
            *met = Arc::new(clean::fault(redactor, met));
            if let Some(did) = did {
                approach(redactor, Arc::make_mut(did));
            }
        }
        Outcome::Attempted { approach: did } | Outcome::Repaired { approach: did, .. } => {
            approach(redactor, Arc::make_mut(did));
        }
        Outcome::Unknown { fault: met } => *met = Arc::new(clean::fault(redactor, met)),
        Outcome::Applied { result } => *result = redactor.text(result).into(),
        Outcome::CannotTell { said: Some(said) } => *said = redactor.text(said).into(),
        Outcome::Done
        | Outcome::NotApplied
        | Outcome::CannotTell { said: None }
        | Outcome::HeadMoved => {}
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
    use unstuck_core::fault::{Fault, Kind, Validation};

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
        let mut outcome = Outcome::Failed { fault: Arc::new(met.clone()), approach: None };
        super::outcome(&redactor, &mut outcome);
        let Outcome::Failed { fault: clean, .. } = outcome else { panic!("{outcome:?}") };
        assert!(!format!("{clean:?}").contains("canary"), "{clean:?}");
        assert_eq!((clean.code(), clean.signature), (met.code(), met.signature));
        let Kind::ValidationPreCommit(check) = &clean.kind else { panic!("{clean:?}") };
        assert_eq!(check.exit, Some(1));
    }
}
