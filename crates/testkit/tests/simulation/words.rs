//! I8: with code, origin and signature equal, the message never influences a decision.

use serde_json::Value;
use unstuck_testkit::WorldProfile;
use unstuck_testkit::run;

// T3.10
#[test]
fn other_messages_with_the_same_signatures_lead_to_the_same_events() {
    for seed in 0..60 {
        let told = journal(WorldProfile::wild_from_seed(seed));
        let words = " 401 unauthorized; rate limit exceeded; panicked at src/main.rs:7";
        let retold = journal(WorldProfile { words, ..WorldProfile::wild_from_seed(seed) });
        assert_eq!(told.len(), retold.len(), "seed {seed}");
        for (one, other) in told.iter().zip(&retold) {
            assert_eq!(one, other, "seed {seed}");
        }
    }
}

fn journal(profile: WorldProfile) -> Vec<Value> {
    let sim = run::play_simulation(profile, 400)
        .unwrap_or_else(|failure| panic!("{}", failure.violation));
    let write = |recorded| serde_json::to_value(recorded).unwrap();
    sim.journal.iter().map(write).map(without_messages).collect()
}

/// Where the words of a fault are kept for people.
const TEXTS: [&str; 5] = ["message", "said", "came_back", "probe_said", "output"];

fn without_messages(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !TEXTS.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name, without_messages(value))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(without_messages).collect()),
        value => value,
    }
}
