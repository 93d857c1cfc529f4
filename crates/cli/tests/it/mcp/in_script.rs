//! Inside a script that is kept alive: it can tell, and what is for agents says so.

use std::fs;

use serde_json::json;
use unstuck_core::engine::Event;

use super::client::{lines, said};
use crate::program::OutputText as _;
use crate::project::Project;

fn mcp() -> &'static str {
    env!("CARGO_BIN_EXE_unstuck")
}

#[test]
fn a_script_can_tell_and_nothing_else() {
    let stage = Project::new();
    let calls = lines(&[
        ("narrate", json!({"text": "Halfway there."})),
        ("ask_human", json!({"question": "Which colour?"})),
        ("mutate", json!({"key": "out", "action": {"kind": "git.push"}})),
        ("task_done", json!({"summary": "x"})),
    ]);
    fs::write(stage.path("in"), calls).unwrap();
    let ran = stage.run_exec(&["--name", "night"], &format!("{} mcp < in > out", mcp()));
    assert!(ran.status.success(), "{}", ran.err());
    let said = said(&stage.wrote("out"));
    assert_eq!(said[0], ("said.".to_owned(), false));
    for (text, failed) in &said[1..] {
        assert!(text.contains("the run around you is a script") && *failed, "{text}");
    }
    let told = stage.events().into_iter().any(|recorded| {
        matches!(&recorded.event, Event::Narrated { text, .. } if **text == *"Halfway there.")
    });
    assert!(told);
    let acted = |recorded: &unstuck_core::engine::RecordedEvent| {
        matches!(recorded.event, Event::MutationIntended { .. } | Event::FaultMet { .. })
    };
    assert!(!stage.events().iter().any(acted));
}

// B18: a token reports for its run only.
#[test]
fn the_token_of_another_run_or_of_no_run_reports_nothing() {
    let stage = Project::new();
    fs::write(stage.path("in"), lines(&[("narrate", json!({"text": "forged"}))])).unwrap();
    // The first run's token is kept, and used when that run is over.
    stage.run_exec(&["--name", "one"], "printf %s \"$UNSTUCK_TOKEN\" > token");
    let later = format!("UNSTUCK_TOKEN=$(cat token) {} mcp < in > late", mcp());
    let forged = format!("UNSTUCK_TOKEN=0.00 {} mcp < in > forged", mcp());
    let ran = stage.run_exec(&["--name", "two"], &format!("{later}; {forged}"));
    assert!(ran.status.success(), "{}", ran.err());
    let late = said(&stage.wrote("late"));
    assert_eq!(late, [("The run that you belong to has ended. Stop here.".to_owned(), true)]);
    let (text, failed) = &said(&stage.wrote("forged"))[0];
    assert!(text.contains("the token is not one of ours") && *failed, "{text}");
    let told = |recorded: &unstuck_core::engine::RecordedEvent| {
        matches!(recorded.event, Event::Narrated { .. })
    };
    assert!(!stage.events().iter().any(told));
}
