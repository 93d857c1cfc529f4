//! What an agent's own trouble leads to, from its end to the task's next step.

use unstuck_core::engine::{Counters, Event, TaskState};
use unstuck_core::fault::{Charge, Code};
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::Stage;
use crate::build::scripts::{Job, fail, write};

// T4.5, T4.7, T4.10: the second time it goes on where it was.
#[tokio::test]
async fn what_passes_by_itself_is_tried_again_and_counted() {
    for code in ["PROVIDER_CRASH", "PROVIDER_API_ERROR", "ITERATION_TIMEOUT", "OPERATION_TIMEOUT"] {
        let job = Job::new("a", [&[fail(code), write("made", "x\n")]]);
        let stage = Stage::build(TestRepo::with(&[]), vec![job]).await;
        stage.done().await;
        let events = stage.events().await;
        let backed_off = |event: &Event| matches!(event, Event::TaskBackingOff { .. });
        let waits: Vec<_> = events.iter().filter(|e| backed_off(&e.event)).collect();
        assert_eq!(waits.len(), 1, "{code}");
        let counts = &waits[0].why.as_ref().unwrap().counts;
        let transient = counts.iter().find(|count| count.counter == Charge::Transient);
        assert_eq!(transient.unwrap().at, 1, "{code}");
        let attempts = stage.assignments("a");
        assert_eq!(attempts.len(), 2, "{code}");
        assert!(attempts[1].thread.is_some(), "{code}: the same conversation");
        assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["made"], "{code}");
    }
}

// T4.6, T4.8, T4.18: only a person can do something about it, and nothing is charged.
#[tokio::test]
async fn what_a_person_has_to_put_right_is_asked_at_once_and_not_counted() {
    for code in ["PROVIDER_NOT_AVAILABLE", "AUTH_INVALID", "PERMISSION_FILE_ACCESS"] {
        let job = Job::new("a", [&[fail(code), write("made", "x\n")]]);
        let stage = Stage::build(TestRepo::with(&[]), vec![job]).await;
        let question = stage.wait_for_question().await;
        assert_eq!(question.code().map(Code::as_str), Some(code));
        assert_eq!(stage.assignments("a").len(), 1, "{code}");
        let (counters, parked) = stage
            .look(|state| {
                let task = state.tasks().next().unwrap();
                (task.counters, matches!(task.state, TaskState::Parked { .. }))
            })
            .await;
        assert_eq!((counters, parked), (Counters::default(), true), "{code}");
    }
}
