//! Waiting is free, shared by all work on one account, bounded and cancellable.

use unstuck_core::engine::{
    CLOSINGS_KEPT_MAX, Command, EffectKind, GateState, ProgressReport, Rule, Status, TaskState,
};
use unstuck_core::fault::{Code, Fault, Kind, Origin};
use unstuck_core::policy::Policy;
use unstuck_core::time::{Span, Time};

use crate::engine::story::{Stage, fault, happened, task};

fn limited(after: Option<u64>) -> Fault {
    let mut fault = fault(Code::ProviderRateLimit, "slow down");
    fault.retry_after = after.map(Span::from_secs);
    fault
}

fn gate(stage: &Stage) -> &unstuck_core::engine::AccountGate {
    stage.state.gate(unstuck_core::engine::GateKey(0)).unwrap()
}

// T4.9, TX11, I3, T1.1
#[test]
fn a_rate_limit_is_waited_out_and_charges_no_task() {
    let mut stage = Stage::tasks(&["a"]);
    let before = stage.state.task(stage.id("a")).unwrap().counters;
    stage.fails("a", limited(Some(30)));
    let run = stage.state.runs().next().unwrap();
    assert_eq!(run.status, Status::PausedTransient);
    let (run, now) = (run.id, stage.now);
    let GateState::Waiting { until } = gate(&stage).state else { panic!() };
    assert!((30_000..=33_000).contains(&until.since(now).as_millis()), "{until:?}");
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters, before);
    assert_eq!(stage.state.signatures().count(limited(None).signature), 0);
    stage.wait();
    assert_eq!(stage.owed("a").run, run, "the run goes on under its own id");
    stage.succeed("a");
}

// B2
#[test]
fn one_limit_stops_everyone_on_the_account_and_one_tries_first() {
    let mut stage = Stage::tasks(&["a", "b", "c"]);
    stage.fails("a", limited(Some(60)));
    let events = stage.fails("b", limited(Some(60)));
    assert!(!happened(&events, "gate.waiting"), "one cause, one wait");
    stage.red("c", "boom");
    assert!(stage.owed_if_any("c").is_none(), "a new attempt waits with the others");
    stage.wait();
    let owed = stage.state.outstanding_effects();
    assert_eq!(owed.len(), 1, "one task tries the account first: {owed:?}");
    stage.attempt("a");
    let mut releases = 0;
    while gate(&stage).release_at.is_some() {
        stage.wait();
        releases += 1;
    }
    assert!(releases >= 1);
    assert!(stage.owed_if_any("b").is_some());
    assert!(stage.owed_if_any("c").is_some());
}

#[test]
fn a_probe_that_is_limited_again_waits_longer() {
    let mut stage = Stage::tasks(&["a"]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        stage.fails("a", limited(None));
        waits.push(stage.wait().as_millis());
    }
    assert!(waits.windows(2).all(|pair| pair[1] > pair[0]), "{waits:?}");
}

/// The report of an agent program when its conversation has a name, before it asked its model.
fn began(stage: &mut Stage) {
    let (effect, report) = (stage.effect_id("a"), ProgressReport::default());
    stage.must(Command::Progress { effect, report });
}

// T4.9, TX11, B40: an agent program that starts has not shown that its account works.
#[test]
fn the_start_of_an_agent_does_not_end_the_trouble_of_its_account() {
    let mut stage = Stage::tasks(&["a"]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        began(&mut stage);
        stage.fails("a", limited(None));
        waits.push(stage.wait().as_millis());
    }
    assert!(waits.windows(2).all(|pair| pair[1] > pair[0]), "{waits:?}");
    began(&mut stage);
    assert!(matches!(gate(&stage).state, GateState::Probing { .. }), "no answer has come yet");
    let (effect, report) =
        (stage.effect_id("a"), ProgressReport { tool_calls: 1, ..ProgressReport::default() });
    stage.must(Command::Progress { effect, report });
    assert_eq!((gate(&stage).state, gate(&stage).limited), (GateState::Passing, 0));
}

// TX11
#[test]
fn an_agent_program_that_is_limited_for_ever_reaches_the_end_of_the_wait() {
    for (code, hours) in [(Code::ProviderRateLimit, 2), (Code::ProviderUsageLimit, 1)] {
        let mut stage = Stage::tasks(&["a"]);
        let (begun, mut calls) = (stage.now, 0);
        while stage.state.questions().count() == 0 {
            began(&mut stage);
            stage.fails("a", fault(code, "slow down"));
            calls += 1;
            if stage.state.next_wake().is_some() {
                stage.wait();
            }
        }
        assert!(calls < 50, "{code}: {calls} calls");
        assert!(stage.now.since(begun) >= Span::from_hours(hours), "{code}");
        assert_eq!(stage.question().why.rule, Rule::WaitedTooLong);
    }
}

// TX11: what fails in between for another reason has not shown that the account works either.
#[test]
fn a_limit_between_other_faults_is_waited_for_longer_each_time() {
    let others =
        [Code::ProviderApiError, Code::IterationTimeout, Code::EnvUnavailable, Code::GitLocked];
    for other in others {
        let mut stage = Stage::tasks(&["a"]);
        let mut waits = Vec::new();
        for _ in 0..5 {
            stage.fails("a", limited(None));
            waits.push(stage.wait().as_millis());
            stage.fails("a", fault(other, "boom"));
            stage.wait();
        }
        assert!(waits.windows(2).all(|pair| pair[1] > pair[0]), "{other}: {waits:?}");
        stage.attempt("a");
        assert_eq!(gate(&stage).limited, 0, "{other}: an answer is an answer");
    }
}

// TX11
#[test]
fn an_endless_limit_ends_in_a_question_after_the_wait_budget_and_not_in_fifty_calls() {
    for after in [None, Some(1), Some(30)] {
        let mut stage = Stage::tasks(&["a"]);
        let begun = stage.now;
        let mut calls = 0;
        while stage.state.questions().count() == 0 {
            stage.fails("a", limited(after));
            calls += 1;
            if stage.state.next_wake().is_some() {
                stage.wait();
            }
        }
        assert!(calls < 50, "{calls} calls");
        assert!(stage.now.since(begun) >= Span::from_hours(2));
        assert_eq!(stage.question().why.rule, Rule::WaitedTooLong);
        assert_eq!(gate(&stage).state, GateState::Passing, "no task waits at it any more");
        stage.answer(unstuck_core::question::Decision::ProvideGuidance);
        stage.succeed("a");
    }
}

#[test]
fn everyone_who_waited_too_long_asks_the_same_question() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.fails("b", limited(None));
    while stage.state.questions().count() == 0 {
        match stage.owed_if_any("a").or_else(|| stage.owed_if_any("b")) {
            Some(effect) => {
                let fault = std::sync::Arc::new(limited(None));
                let outcome = unstuck_core::engine::EffectOutcome::Failed { fault, approach: None };
                let spent = unstuck_core::policy::Amount::ZERO;
                stage.must(Command::Settle { effect: effect.id, outcome, spent });
            }
            None => {
                stage.wait();
            }
        }
    }
    assert_eq!(stage.question().tasks.len(), 2);
}

#[test]
fn a_usage_window_is_waited_for_until_its_stated_end_three_times() {
    let mut stage = Stage::tasks(&["a"]);
    for window in 1..=4 {
        let resets_at = stage.now + Span::from_hours(5);
        let mut fault = fault(Code::ProviderUsageLimit, "window");
        fault.resets_at = Some(resets_at);
        stage.fails("a", fault);
        if window == 4 {
            assert_eq!(stage.question().why.rule, Rule::WaitedTooLong);
        } else {
            stage.wait();
            let late = stage.now.since(resets_at);
            assert!(stage.now >= resets_at && late <= Span::from_mins(10), "{late} late");
        }
    }
}

#[test]
fn a_usage_window_without_a_stated_end_is_tried_every_half_hour() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::ProviderUsageLimit, "window"));
    let waited = stage.wait();
    assert!((30 * 60..=33 * 60).contains(&(waited.as_millis() / 1000)), "{waited}");
}

// T4.7
#[test]
fn the_second_failure_of_the_service_in_a_row_closes_the_gate() {
    let mut stage = Stage::tasks(&["a", "b"]);
    let down = || Fault::new(Kind::bare(Code::ProviderApiError), "api", "500");
    stage.fails("a", down());
    assert_eq!(gate(&stage).state, GateState::Passing);
    let TaskState::BackingOff { until: Some(_), gate: None, .. } = stage.task_state("a") else {
        panic!("{:?}", stage.task_state("a"))
    };
    stage.fails("b", down());
    assert!(matches!(gate(&stage).state, GateState::Waiting { .. }));
    let counters = stage.state.task(stage.id("b")).unwrap().counters;
    assert_eq!((counters.consecutive, counters.transient[0].count), (1, 1));
}

#[test]
fn a_call_that_never_answered_says_nothing_good_about_the_account() {
    let mut stage = Stage::tasks(&["a", "b", "c"]);
    let down = || Fault::new(Kind::bare(Code::ProviderApiError), "api", "500");
    stage.fails("a", down());
    stage.fails("b", fault(Code::IterationTimeout, "no first byte"));
    stage.fails("c", down());
    assert!(matches!(gate(&stage).state, GateState::Waiting { .. }));
}

#[test]
fn a_success_in_between_keeps_the_gate_open() {
    let mut stage = Stage::tasks(&["a", "b", "c"]);
    let down = || Fault::new(Kind::bare(Code::ProviderApiError), "api", "500");
    stage.fails("a", down());
    stage.attempt("b");
    stage.fails("c", down());
    assert_eq!(gate(&stage).state, GateState::Passing);
}

#[test]
fn a_person_can_end_the_wait() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", limited(Some(3_600)));
    let id = stage.id("a");
    stage.must(Command::Kick { task: id });
    assert!(matches!(stage.owed("a").what, EffectKind::Attempt { .. }));
    assert!(stage.try_to(Command::Kick { task: id }).is_err());
}

#[test]
fn when_the_task_that_tries_first_leaves_another_one_tries() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.fails("a", limited(Some(60)));
    stage.fails("b", limited(Some(60)));
    stage.wait();
    let (first, other) = if stage.owed_if_any("a").is_some() { ("a", "b") } else { ("b", "a") };
    let skipped = stage.id(first);
    stage.must(Command::Skip { task: skipped });
    assert!(stage.owed_if_any(other).is_some(), "{:?}", gate(&stage));
}

// B10
#[test]
fn ten_thousand_waiting_tasks_come_back_in_growing_groups() {
    let mut stage = Stage::new();
    let names: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    let tasks = names.iter().map(|name| task(name)).collect();
    stage.quiet = true;
    stage.build_with_slots(tasks, 10_000);
    for effect in stage.state.outstanding_effects() {
        let fault = std::sync::Arc::new(limited(Some(60)));
        let outcome = unstuck_core::engine::EffectOutcome::Failed { fault, approach: None };
        let spent = unstuck_core::policy::Amount::ZERO;
        stage.must(Command::Settle { effect: effect.id, outcome, spent });
    }
    assert_eq!(gate(&stage).waiters.len(), 10_000);
    stage.wait();
    assert_eq!(stage.state.outstanding_effects().len(), 1);
    stage.attempt("0");
    let mut last = gate(&stage).waiters.len();
    let mut group = 1;
    while gate(&stage).release_at.is_some() {
        stage.wait();
        let now = gate(&stage).waiters.len();
        assert!(last - now <= group, "{last} → {now} in a group of {group}");
        (last, group) = (now, group * 2);
    }
    assert_eq!(last, 0);
    assert_eq!(stage.now.max(Time::EPOCH), stage.now);
}

#[test]
fn a_window_that_has_just_passed_is_tried_again_soon_and_with_growing_patience() {
    let mut stage = Stage::tasks(&["a"]);
    stage.now = stage.now + Span::from_hours(1);
    let mut before = Span::ZERO;
    for _ in 1..=6 {
        let mut past = fault(Code::ProviderUsageLimit, "window");
        past.resets_at = Some(stage.now - Span::from_secs(30));
        stage.fails("a", past);
        let waited = stage.wait();
        assert!(waited > before && waited < Span::from_mins(10), "{waited} after {before}");
        before = waited;
    }
    assert_eq!(gate(&stage).windows, 0, "no window was waited for");
}

#[test]
fn a_service_that_says_now_is_not_called_at_once() {
    let mut stage = Stage::tasks(&["a"]);
    let mut now = fault(Code::ProviderUsageLimit, "window");
    now.retry_after = Some(Span::ZERO);
    stage.fails("a", now);
    assert!(stage.wait() >= Span::from_secs(1));
}

#[test]
fn a_window_that_is_said_to_be_over_for_long_is_waited_for_as_if_nothing_was_said() {
    let mut stage = Stage::tasks(&["a"]);
    stage.now = stage.now + Span::from_hours(1);
    let mut past = fault(Code::ProviderUsageLimit, "window");
    past.resets_at = Some(Time::from_millis(5));
    stage.fails("a", past);
    assert!(stage.wait() > Span::from_mins(29), "a time long gone is no time");
}

#[test]
fn a_later_time_than_the_gate_waits_for_is_news_and_the_same_time_is_not() {
    let mut stage = Stage::tasks(&["a", "b", "c"]);
    stage.fails("a", limited(Some(60)));
    let GateState::Waiting { until } = gate(&stage).state else { panic!() };
    let mut same = limited(None);
    same.retry_after = Some(until.since(stage.now));
    assert!(!happened(&stage.fails("b", same.clone()), "gate.waiting"));
    same.retry_after = Some(Span::from_millis(until.since(stage.now).as_millis() + 1));
    assert!(happened(&stage.fails("c", same), "gate.waiting"));
}

#[test]
fn the_wait_budget_is_over_when_it_is_reached() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", limited(Some(1)));
    let since = gate(&stage).since.unwrap();
    stage.wait();
    stage.now = since + stage.policy.wait.limited_ms;
    stage.fails("a", limited(Some(1)));
    assert_eq!(stage.question().why.rule, Rule::WaitedTooLong);
}

#[test]
fn a_run_that_was_paused_waits_with_the_others_when_its_account_is_limited_meanwhile() {
    let mut stage = Stage::tasks(&["a"]);
    let (run, build) = (stage.owed("a").run, stage.state.builds().next().unwrap().id);
    stage.must(Command::Pause { build });
    stage.build(vec![task("b")]);
    stage.fails("b", limited(Some(60)));
    stage.must(Command::Resume { build });
    assert!(stage.owed_if_any("a").is_none(), "a limited account is not asked");
    assert!(matches!(stage.task_state("a"), TaskState::BackingOff { .. }));
    while stage.owed_if_any("a").is_none() {
        stage.wait();
        if stage.owed_if_any("b").is_some() {
            stage.attempt("b");
        }
    }
    assert_eq!(stage.owed("a").run, run);
}

#[test]
fn what_passes_by_itself_has_its_time_and_not_a_moment_more() {
    let mut policy = Policy::default();
    (policy.retry.transient, policy.retry.transient_for_ms) = (0, Span::ZERO);
    let mut stage = Stage::with(policy);
    stage.build(vec![task("a")]);
    let mut slow = fault(Code::NetworkTimeout, "slow");
    slow.origin = Origin::Provider;
    stage.fails("a", slow);
    assert_eq!(stage.state.questions().count(), 1);
}

#[test]
fn how_long_an_account_was_closed_is_remembered() {
    let names: Vec<String> = (0..CLOSINGS_KEPT_MAX + 2).map(|n| format!("t{n}")).collect();
    let mut stage = Stage::new();
    stage.build_with_slots(names.iter().map(|name| task(name)).collect(), 1);
    for name in &names {
        stage.now = stage.now + Span::from_mins(1);
        let from = stage.now;
        stage.fails(name, limited(Some(30)));
        assert_eq!(gate(&stage).closed_by, Some(Code::ProviderRateLimit));
        // The first try is limited as well: it is the same trouble.
        stage.wait();
        stage.fails(name, limited(Some(30)));
        stage.wait();
        stage.attempt(name);
        let last = *gate(&stage).closings.back().unwrap();
        assert_eq!((last.from, last.to), (from, stage.now));
        assert_eq!((gate(&stage).since, gate(&stage).closed_by), (None, None));
        for _ in ["check", "commit", "emit"] {
            stage.done(name);
        }
    }
    assert_eq!(gate(&stage).closings.len(), CLOSINGS_KEPT_MAX);
}
