//! Journals that were written before: what they add up to must never change, or a project would
//! wake up as another one. The journals come from the simulator (`simulation journals`), the digests
//! of the state after every single event from the ignored test below.

use std::fmt::Write as _;
use std::path::PathBuf;

use unstuck_core::engine::{RecordedEvent, State};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/engine").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

/// The digest of the state after each event, in the order of the events; one line per project.
fn digests() -> String {
    let mut states = String::new();
    let mut state = State::new("");
    for line in read("journals.jsonl").lines() {
        if let Some(project) = line.strip_prefix("# ") {
            state = State::new(project);
            write!(states, "\n{project}").unwrap();
            continue;
        }
        let recorded: RecordedEvent = serde_json::from_str(line).unwrap();
        state.apply(&recorded).unwrap();
        let hash = blake3::hash(&serde_json::to_vec(&state).unwrap());
        write!(states, " {}", &hash.to_hex()[..8]).unwrap();
    }
    states.trim_start().to_owned() + "\n"
}

#[test]
fn old_journals_add_up_to_what_they_always_did() {
    let (found, known) = (digests(), read("states.txt"));
    for (found, known) in found.lines().zip(known.lines()) {
        let first =
            found.split(' ').zip(known.split(' ')).position(|(found, known)| found != known);
        assert_eq!(first, None, "the first event that leads elsewhere, in {known:.20}");
    }
    assert_eq!(found, known);
}

#[test]
#[ignore = "writes what the journals add up to"]
fn write_what_the_journals_add_up_to() {
    std::fs::write(file("states.txt"), digests()).unwrap();
}
