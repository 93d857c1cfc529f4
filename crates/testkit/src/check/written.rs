//! The serialized form: a journal and a state read back equal the originals.

use serde_json::Value;
use unstuck_core::engine::{RecordedEvent, State};

use super::{Violation, require};

/// Checks that the journal, serialized, read and replayed, gives the state; so does the state itself.
pub fn check_round_trip(state: &State, journal: &[RecordedEvent]) -> Result<(), Violation> {
    let mut replayed = State::new(state.project());
    for recorded in journal {
        let read = round_trip(recorded)?;
        require(read == *recorded, "an event reads as it was written", || {
            format!("{recorded:?}\n{read:?}")
        })?;
        replayed.apply(&read);
    }
    require(replayed == *state, "replaying gives the same state", || {
        describe_difference(&replayed, state)
    })?;
    let read: State = round_trip(state)?;
    require(read == *state, "a state reads as it was written", || describe_difference(&read, state))
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(
    thing: &T,
) -> Result<T, Violation> {
    let unwritable =
        |error: serde_json::Error| Violation::new("can be written down", error.to_string());
    let text = serde_json::to_string(thing).map_err(unwritable)?;
    serde_json::from_str(&text)
        .map_err(|error| Violation::new("can be read", format!("{error}: {text}")))
}

/// Returns a short description of where two states differ.
pub fn describe_difference(one: &State, other: &State) -> String {
    let (Ok(one), Ok(other)) = (serde_json::to_value(one), serde_json::to_value(other)) else {
        return "states that cannot be written down".to_owned();
    };
    let mut found = Vec::new();
    collect_differences("", &one, &other, &mut found);
    found.truncate(6);
    found.join("; ")
}

fn collect_differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))) {
                let null = Value::Null;
                let a = one.get(key).unwrap_or(&null);
                let b = other.get(key).unwrap_or(&null);
                collect_differences(&format!("{path}/{key}"), a, b, found);
            }
        }
        _ if one != other => found.push(format!("{path}: {one} and {other}")),
        _ => {}
    }
}
