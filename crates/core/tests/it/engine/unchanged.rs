//! An agent that ends without a change is asked for a word, once; then the checks decide.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Command, EffectKind, EffectOutcome, Event, Start, TaskState};
use unstuck_core::fault::{Code, Fault, Validation};
use unstuck_core::plan::MutationSpec;
use unstuck_core::tell;

use crate::engine::story::{Stage, action};

fn ends_unchanged(stage: &mut Stage, said: &str) -> Vec<Event> {
    let approach = Approach { summary: said.to_owned(), ..Approach::default() };
    stage.settle("a", EffectOutcome::Attempted { approach: Arc::new(approach) })
}

fn is_nudge(event: &Event) -> bool {
    matches!(event, Event::Nudged { .. })
}

#[test]
fn an_agent_that_changed_nothing_is_asked_once_and_then_needs_no_change() {
    let mut stage = Stage::tasks(&["a"]);
    let run = stage.owed("a").run;
    assert!(ends_unchanged(&mut stage, "Done.").iter().any(is_nudge));
    // It goes on in its conversation, and nothing is charged.
    let effect = stage.owed("a");
    assert_eq!((effect.run, effect.what), (run, EffectKind::Attempt { start: Start::Resume }));
    assert!(!ends_unchanged(&mut stage, "It is there already.").iter().any(is_nudge));
    for _ in ["check", "commit"] {
        stage.done("a");
    }
    let ended = stage.done("a");
    let unchanged = ended.iter().find_map(|event| match event {
        Event::TaskDone { unchanged, .. } => Some(unchanged.as_deref()),
        _ => None,
    });
    assert_eq!(unchanged, Some(Some("It is there already.")));
    assert_eq!(*stage.task_state("a"), TaskState::Done);
    let last = stage.journal.last().unwrap();
    assert!(matches!(last.event, Event::BuildCompleted { .. }));
    let done = stage.journal.iter().find(|known| matches!(known.event, Event::TaskDone { .. }));
    let said = tell::narrate_event(&stage.state, done.unwrap());
    assert_eq!(said.as_deref(), Some("“Task a” needs no change: “It is there already.”"));
}

#[test]
fn without_a_change_a_red_check_is_a_failed_approach_and_no_second_word_is_asked() {
    let mut stage = Stage::tasks(&["a"]);
    ends_unchanged(&mut stage, "Done.");
    ends_unchanged(&mut stage, "Done.");
    let red = Fault::validation_pre_commit("validate:pre_commit#1", "red", Validation::default());
    let events = stage.fails("a", red);
    let retrying = |event: &Event| {
        matches!(event, Event::Retrying { code: Code::ValidationPreCommit, attempt: 1, .. })
    };
    assert!(events.iter().any(retrying));
    assert!(!ends_unchanged(&mut stage, "Done.").iter().any(is_nudge));
}

#[test]
fn work_that_is_an_action_is_no_work_without_a_change() {
    let mut stage = Stage::tasks(&["a"]);
    let effect = stage.effect_id("a");
    let mutation = MutationSpec { key: "send".to_owned(), ..action("send") };
    stage.must(Command::Mutate { effect, mutation });
    assert!(!ends_unchanged(&mut stage, "Declared.").iter().any(is_nudge));
}
