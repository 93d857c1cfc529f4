//! Unstuck against the oracle.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::fault::Code;
use unstuck_core::time::Time;
use unstuck_testkit::healing::{Scenario, Supervisor, SupervisorTotal};

use super::{compositions, played, written};

/// Plays scenarios and says what is not as expected.
fn surprises(scenarios: Vec<Scenario>) -> Vec<String> {
    let played = scenarios.into_iter().map(|scenario| played(scenario, Supervisor::Unstuck));
    played.flat_map(|row| row.list_surprises()).collect()
}

#[test]
fn what_is_expected_holds_in_every_scenario() {
    let surprises = surprises(written());
    assert!(surprises.is_empty(), "\n{}", surprises.join("\n"));
}

#[test]
fn what_is_expected_holds_when_much_goes_wrong_at_a_time() {
    let surprises = surprises(compositions());
    assert!(surprises.is_empty(), "\n{}", surprises.join("\n"));
}

#[test]
fn all_calls_together_are_at_most_a_tenth_above_the_least() {
    let all = written().into_iter().chain(compositions());
    let rows: Vec<_> = all.map(|scenario| played(scenario, Supervisor::Unstuck)).collect();
    let total = SupervisorTotal::from_rows(&rows, Supervisor::Unstuck);
    assert!(total.calls * 10 <= total.least_calls * 11, "{total:?}");
    assert_eq!((total.done, total.duplicates, total.lost), (total.completable, 0, 0));
}

#[test]
fn every_code_has_a_scenario() {
    let all: BTreeSet<Code> = written().into_iter().flat_map(|scenario| scenario.codes).collect();
    let missing: Vec<&Code> = Code::ALL.iter().filter(|code| !all.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(written().len() + compositions().len() >= 60);
    assert!(compositions().len() >= 20);
}

/// The oracles of the parts may be added only because no part knows of another.
#[test]
fn parts_of_a_composition_share_no_error_and_no_account() {
    let part_of = |words: &str| words.split(':').next().unwrap().to_owned();
    for composition in compositions() {
        let mut errors = BTreeMap::new();
        let mut accounts = BTreeMap::new();
        for task in &composition.tasks {
            for trouble in &task.troubles {
                let part = part_of(&trouble.message_text());
                assert!(task.name.starts_with(&part), "{}: {part}", task.name);
                let signature = trouble.to_fault(Time::EPOCH).signature.to_string();
                let other = errors.insert(signature, part.clone());
                assert!(other.is_none_or(|other| other == part), "{}", composition.name);
                let other = accounts.insert(task.account.clone(), part.clone());
                assert!(other.is_none_or(|other| other == part), "{}", composition.name);
            }
        }
        assert!(composition.oracle.questions < 5, "{}", composition.name);
        assert!(composition.kills.is_empty());
    }
    assert_eq!(compositions(), compositions(), "a seed leads to one composition");
}
