//! Tries: an error that heals asks no question, and one that comes back does not go unasked.

use unstuck_core::engine::{EffectKind, EffectOutcome, Event, TaskId};
use unstuck_core::fault::Code;
use unstuck_core::question::Decision;

use crate::desk::{Desk, acting, action, task, unknown};

fn asks(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::QuestionAsked { .. }))
}

// I14, B17
#[test]
fn the_same_error_healed_in_ten_tasks_in_a_row_asks_no_question() {
    let mut desk = Desk::new();
    let names: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    desk.start(1, names.iter().map(|name| task(name, &[])).collect());
    for id in (0..10).map(TaskId) {
        for _ in 0..3 {
            assert!(!asks(&desk.fails(id, Code::ValidationPreCommit)));
        }
        while desk.state.outstanding_effects().iter().any(|effect| effect.task == id) {
            assert!(!asks(&desk.done(id)));
        }
    }
    assert!(desk.is_over(0));
}

// I1
#[test]
fn a_failure_that_waited_for_an_action_counts_in_the_life_it_is_dealt_with() {
    let mut desk = Desk::new();
    let lost = || unknown(Code::ValidationPrePush);
    desk.start(2, vec![acting("a", vec![action("k")]), task("b", &[])]);
    for _ in 0..4 {
        desk.fails(TaskId(1), Code::ValidationPrePush);
    }
    desk.done_until(TaskId(0), |work| matches!(work, EffectKind::Perform { .. }));
    desk.settle(TaskId(0), lost());
    desk.answer(0, Decision::ProvideGuidance);
    let events = desk.settle(TaskId(0), EffectOutcome::NotApplied);
    assert!(events.iter().any(|event| matches!(event, Event::Retrying { attempt: 1, .. })));
    let count =
        desk.state.signatures().count(desk.state.task(TaskId(0)).unwrap().retrying.unwrap());
    assert_eq!(count, 1);
}

// B17
#[test]
fn an_error_that_comes_and_goes_inside_one_task_asks_at_the_fourth() {
    let mut desk = Desk::new();
    desk.start(1, vec![task("t", &[])]);
    for failure in 1..=4 {
        // The attempt and everything before its commit succeeds in between.
        desk.done(TaskId(0));
        let asked = asks(&desk.fails(TaskId(0), Code::ValidationPreCommit));
        assert_eq!(asked, failure == 4, "failure {failure}");
    }
}
