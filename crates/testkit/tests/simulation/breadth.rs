//! A simulation that never gets somewhere proves nothing about it.

use std::collections::BTreeSet;

use unstuck_core::engine::Event;
use unstuck_core::fault::Code;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_testkit::{WorldProfile, run};

/// How many kinds of event these seeds reach. The others are a journal's accepted loss, a job that was
/// missed, and the results of checks, which real workers report.
const EVENTS: usize = 74;

#[test]
fn seeds_reach_every_event_code_question_and_decision() {
    let mut events = BTreeSet::new();
    let mut codes = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    let mut decisions = BTreeSet::new();
    for seed in 0..250 {
        let sim = run::play_simulation(WorldProfile::wild_from_seed(seed), 500)
            .unwrap_or_else(|failure| panic!("seed {seed}: {}", failure.violation));
        for recorded in &sim.journal {
            events.insert(name(&recorded.event));
            match &recorded.event {
                Event::FaultMet { fault, .. } => {
                    codes.insert(fault.code());
                }
                Event::QuestionAsked { question } => {
                    kinds.insert(question.kind);
                }
                Event::QuestionResolved { decision, .. } => {
                    decisions.insert(*decision);
                }
                _ => {}
            }
        }
    }
    assert_eq!(events.len(), EVENTS, "{events:?}");
    assert_eq!(codes.len(), Code::ALL.len());
    assert_eq!(kinds.len(), QuestionKind::ALL.len());
    assert_eq!(decisions.len(), Decision::ALL.len());
}

fn name(event: &Event) -> String {
    let told = format!("{event:?}");
    told.split(' ').next().unwrap_or_default().to_owned()
}
