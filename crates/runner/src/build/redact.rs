//! Redaction of recorded outcomes.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::EffectOutcome;
use unstuck_world::redact::Redactor;

use crate::effects::redact_fault;

/// Redacts all texts of an outcome.
pub(super) fn redact_outcome(redactor: &Redactor, outcome: &mut EffectOutcome) {
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
