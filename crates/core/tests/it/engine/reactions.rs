//! Every code leads to what the table says, by its code alone.

use std::collections::BTreeSet;

use unstuck_core::engine::{EffectKind, Event, Rule, Status, TaskState};
use unstuck_core::fault::{Category, Class, Code, ErrorType, Reaction};
use unstuck_core::question::QuestionKind;
use unstuck_core::time::Span;

use crate::engine::story::{Stage, fault, happened};

/// What the first fault of a code leads to, in a word.
fn outcome(code: Code, message: &str) -> (String, Vec<Event>) {
    let mut stage = Stage::tasks(&["a"]);
    let mut fault = fault(code, "same");
    message.clone_into(&mut fault.message);
    let events = stage.fails("a", fault);
    let word = match stage.task_state("a") {
        TaskState::Running { .. } => match stage.owed("a").what {
            EffectKind::Attempt { start } => format!("attempt {start:?}"),
            other => format!("{other:?}"),
        },
        TaskState::BackingOff { until: Some(_), .. } => "backs off".to_owned(),
        TaskState::BackingOff { .. } => "waits at the gate".to_owned(),
        TaskState::Parked { .. } => format!("asks {:?}", stage.question().kind),
        other => format!("{:?}", other.kind()),
    };
    (word, events)
}

// T3.10, I8
#[test]
fn the_message_changes_nothing() {
    for &code in Code::ALL {
        let (plain, _) = outcome(code, "plain");
        let (loud, _) = outcome(code, "429 rate limit 401 unauthorized timeout conflict");
        assert_eq!(plain, loud, "{code}");
    }
}

// T2.6, T4.5–T4.18, T4.30, T3.2, T3.3
#[test]
fn every_code_leads_to_what_the_table_says() {
    let mut seen = BTreeSet::new();
    for &code in Code::ALL {
        let (word, _) = outcome(code, "");
        let expected = match code.row().reaction {
            Reaction::Backoff | Reaction::BackoffThenGate => "backs off",
            Reaction::Gate | Reaction::GateUntilReset => "waits at the gate",
            Reaction::Compact => "attempt Compacted",
            Reaction::Replan | Reaction::ReplanHarder | Reaction::TakeBackReplan => {
                "attempt KeepTree"
            }
            Reaction::TakeBackSkip => "TakeBack",
            Reaction::Fail => "Failed",
            Reaction::RetryOnceAsk | Reaction::RetryOnceWarn | Reaction::RetryOnceWarnAsk => {
                "attempt Resume"
            }
            Reaction::Ask | Reaction::TellOperator | Reaction::Quarantine | Reaction::Budget => {
                match QuestionKind::from_asks(code.row().asks).unwrap() {
                    QuestionKind::Hands => "asks Hands",
                    QuestionKind::Ok => "asks Ok",
                    QuestionKind::Choice => "asks Choice",
                    QuestionKind::Ours => "asks Ours",
                    QuestionKind::Paused => "asks Paused",
                    QuestionKind::RedBase => "asks RedBase",
                    QuestionKind::Happened | QuestionKind::Passing => {
                        panic!("{code} asks what no code asks")
                    }
                }
            }
            Reaction::Repair => panic!("{code}: a task is never repaired"),
        };
        let same = word == expected || expected == "attempt Resume" && word.starts_with("attempt");
        assert!(same, "{code}: {word}, expected {expected}");
        seen.insert(word);
    }
    assert!(seen.len() >= 6, "{seen:?}");
}

// T3.1–T3.6, T3.19, TX7
#[test]
fn the_runs_status_follows_from_the_type_alone() {
    for &code in Code::ALL {
        let (_, events) = outcome(code, "");
        let statuses: Vec<Status> = events
            .iter()
            .filter_map(|event| match event {
                Event::RunPaused { status, .. } | Event::RunFailed { status, .. } => Some(*status),
                _ => None,
            })
            .collect();
        let row = code.row();
        let silent = matches!(
            row.reaction,
            Reaction::RetryOnceAsk
                | Reaction::RetryOnceWarn
                | Reaction::RetryOnceWarnAsk
                | Reaction::TakeBackSkip
        );
        if silent {
            assert_eq!(statuses, [], "{code} is repeated or taken back within its run");
        } else {
            assert_eq!(statuses, [Status::from(row.error_type.run_status())], "{code}");
        }
    }
}

// T3.14
#[test]
fn a_passing_failure_leads_to_exactly_one_new_run_linked_to_the_failed_one() {
    let mut stage = Stage::tasks(&["a"]);
    let first = stage.owed("a").run;
    stage.fails("a", fault(Code::ProviderCrash, "gone"));
    let waited = stage.wait();
    assert!((1_000..=1_300).contains(&waited.as_millis()), "{waited}");
    let started: Vec<_> = stage
        .journal
        .iter()
        .filter_map(|recorded| match recorded.event {
            Event::RunStarted { run, retry_of, .. } => Some((run, retry_of)),
            _ => None,
        })
        .collect();
    assert_eq!(started.len(), 2);
    assert_eq!(started[1].1, Some(first));
}

// T3.7, T4.5, T4.10
#[test]
fn a_task_asks_when_both_five_repetitions_and_half_an_hour_are_over() {
    for code in [Code::ProviderCrash, Code::IterationTimeout, Code::NetworkTimeout] {
        let mut stage = Stage::tasks(&["a"]);
        let begun = stage.now;
        let mut failures = 0;
        loop {
            let mut fault = fault(code, "down");
            fault.origin = unstuck_core::fault::Origin::Tool;
            stage.fails("a", fault);
            failures += 1;
            if stage.state.questions().count() > 0 {
                break;
            }
            stage.wait();
        }
        assert!(failures > 6, "{code}: {failures}");
        assert!(stage.now.since(begun) >= Span::from_mins(30));
        assert_eq!(stage.question().why.rule, Rule::MaxRetriesExceeded);
        // Network trouble is counted in the backstop but never asks by itself.
        let counted = code.row().category != Category::Network;
        let consecutive = stage.state.task(stage.id("a")).unwrap().counters.consecutive;
        assert_eq!(consecutive > 0, counted, "{code}");
    }
}

#[test]
fn a_connector_asks_after_five_repetitions() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..5 {
        stage.fails("a", fault(Code::NetworkUnavailable, "503"));
        stage.wait();
    }
    stage.fails("a", fault(Code::NetworkUnavailable, "503"));
    assert_eq!(stage.question().why.rule, Rule::MaxRetriesExceeded);
}

#[test]
fn a_success_in_between_starts_the_count_over() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::ProviderCrash, "gone"));
    stage.wait();
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.transient[0].count, 1);
    stage.attempt("a");
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.transient[0].count, 0);
}

#[test]
fn a_conversation_is_shortened_twice_and_then_a_person_is_asked() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..2 {
        let events = stage.fails("a", fault(Code::ProviderContextTooLong, "too long"));
        assert!(!happened(&events, "agent.waiting_for_input"));
    }
    let events = stage.fails("a", fault(Code::ProviderContextTooLong, "too long"));
    assert!(happened(&events, "agent.waiting_for_input"));
}

// T4.14, T4.28
#[test]
fn settings_that_cannot_work_fail_their_task_and_leave_out_what_needs_it() {
    let mut stage = Stage::new();
    stage.build(vec![
        crate::engine::story::task("a"),
        crate::engine::story::needing("b", &["a"]),
        crate::engine::story::task("c"),
    ]);
    stage.fails("a", fault(Code::ConfigInvalid, "bad value"));
    assert_eq!(*stage.task_state("a"), TaskState::Failed { code: Code::ConfigInvalid });
    assert!(matches!(stage.task_state("b"), TaskState::Skipped { .. }));
    stage.succeed("c");
}

#[test]
fn a_used_up_allowance_of_a_tool_can_be_waited_out_by_policy() {
    let mut policy = unstuck_core::policy::Policy::default();
    policy.wait.tool_quota_waits = true;
    let mut stage = Stage::with(policy);
    stage.build(vec![crate::engine::story::task("a")]);
    stage.fails("a", fault(Code::ToolQuota, "limit"));
    assert!(matches!(stage.task_state("a"), TaskState::BackingOff { .. }));
    assert_eq!(Code::ToolQuota.row().class, Class::NeverRetry);
    assert_eq!(Code::ToolQuota.row().error_type, ErrorType::Permission);
}
