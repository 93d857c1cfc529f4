//! Money, tokens and time: reserved before a call, never over the cap.

use unstuck_core::engine::{
    Build, BuildState, Command, EffectKind, EffectOutcome, Event, PauseCause, ProgressReport,
    TaskState, budget_left,
};
use unstuck_core::fault::{BudgetSpent, Fault};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::tell::question_text;
use unstuck_core::time::Span;

use crate::engine::story::{Stage, happened, task};

fn tokens(tokens: u64) -> Amount {
    Amount { tokens, ..Amount::ZERO }
}

fn stage(set: impl FnOnce(&mut Policy)) -> Stage {
    let mut policy = Policy::default();
    set(&mut policy);
    let mut stage = Stage::with(policy);
    stage.build(vec![task("a"), task("b")]);
    stage
}

fn reserve(stage: &mut Stage, name: &str, amount: u64) -> Vec<Event> {
    let effect = stage.effect_id(name);
    stage.must(Command::Reserve { effect, amount: tokens(amount) })
}

fn spend(stage: &mut Stage, name: &str, amount: u64) {
    let effect = stage.effect_id(name);
    let report = ProgressReport { spent: tokens(amount), ..Default::default() };
    stage.must(Command::Progress { effect, report });
}

fn winds_down(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::BudgetUpdated { wind_down: true, .. }))
}

// I12
#[test]
fn a_call_is_reserved_and_an_agent_is_told_to_finish_at_ninety_percent() {
    let mut stage = stage(|policy| policy.budget.per_task = tokens(1_000));
    assert!(!winds_down(&reserve(&mut stage, "a", 400)));
    spend(&mut stage, "a", 300);
    assert!(!winds_down(&reserve(&mut stage, "a", 600)));
    assert!(winds_down(&reserve(&mut stage, "a", 650)), "a new reservation replaces the old one");
    spend(&mut stage, "a", 650);
    let task = stage.state.task(stage.id("a")).unwrap();
    assert_eq!((task.spent, task.reserved), (tokens(950), Amount::ZERO));
}

#[test]
fn a_task_without_room_asks_and_the_others_go_on() {
    for (decision, cap) in [(Decision::Continue, 201), (Decision::RaiseLimit, 403)] {
        let mut stage = stage(|policy| policy.budget.per_task = tokens(100));
        reserve(&mut stage, "a", 101);
        assert_eq!(stage.question().kind, QuestionKind::Paused);
        stage.succeed("b");
        stage.answer(decision);
        assert!(!happened(&reserve(&mut stage, "a", cap), "agent.waiting_for_input"));
        assert!(happened(&reserve(&mut stage, "a", cap + 1), "agent.waiting_for_input"));
        stage.answer(Decision::Stop);
        assert!(matches!(stage.task_state("a"), TaskState::Skipped { .. }));
    }
}

// B81: the agent is ended a moment before its work has counted all of the time.
#[test]
fn an_agent_that_is_ended_for_its_time_leads_to_a_question_with_the_limit() {
    let limit = Amount { time_ms: 3_000, ..Amount::ZERO };
    let mut stage = stage(|policy| policy.budget.per_task = limit);
    let spent = BudgetSpent { unit: "time".to_owned(), ..BudgetSpent::default() };
    stage.fails("a", Fault::budget_exhausted("agent", "its working time is spent", spent));
    let asked = stage.question();
    assert_eq!(asked.kind, QuestionKind::Paused);
    let text = question_text(&stage.state, asked, stage.now);
    assert!(text.problem.contains("3 s"), "{}", text.problem);
}

#[test]
fn going_on_gives_room_to_a_call_that_is_larger_than_the_limit() {
    let mut stage = stage(|policy| policy.budget.per_task = tokens(50));
    reserve(&mut stage, "a", 150);
    let text = question_text(&stage.state, stage.question(), stage.now);
    let going_on = &text.options[0].description;
    assert!(going_on.contains("may spend 150 tokens more (200 tokens in all)"), "{going_on}");
    stage.answer(Decision::Continue);
    assert!(!happened(&reserve(&mut stage, "a", 150), "agent.waiting_for_input"));
    // A person sees what was set, not what they have added before.
    spend(&mut stage, "a", 190);
    assert!(happened(&reserve(&mut stage, "a", 20), "agent.waiting_for_input"));
    let text = question_text(&stage.state, stage.question(), stage.now);
    let going_on = &text.options[0].description;
    assert!(going_on.contains("may spend 50 tokens more (250 tokens in all)"), "{going_on}");
}

#[test]
fn going_on_adds_the_limit_to_what_is_spent_beyond_it() {
    let units: [fn(u64) -> Amount; 3] = [
        |money_micros| Amount { money_micros, ..Amount::ZERO },
        tokens,
        |time_ms| Amount { time_ms, ..Amount::ZERO },
    ];
    for amount in units {
        let limit = amount(6_000);
        let of_task = |policy: &mut Policy| policy.budget.per_task = limit;
        let of_build = |policy: &mut Policy| policy.budget.per_build = limit;
        for mut stage in [stage(of_task), stage(of_build)] {
            // One slow answer overran the limit, and the program continued.
            for spent in [amount(19_000), amount(1_000)] {
                let effect = stage.effect_id("a");
                let report = ProgressReport { spent, ..Default::default() };
                stage.must(Command::Progress { effect, report });
            }
            let text = question_text(&stage.state, stage.question(), stage.now);
            stage.answer(Decision::Continue);
            let task = stage.state.task(stage.id("a")).unwrap();
            let raised = task.raised.saturating_add(stage.state.builds().next().unwrap().raised);
            assert_eq!(raised, amount(20_000), "26 in all: 20 are spent, 6 are added");
            if amount(1).tokens == 1 {
                let going_on = &text.options[0].description;
                let told = "may spend 20,000 tokens more (26,000 tokens in all)";
                assert!(going_on.contains(told), "{going_on}");
            }
            let effect = stage.effect_id("a");
            let asked = stage.must(Command::Reserve { effect, amount: limit });
            assert_eq!(stage.state.questions().count(), 0, "{asked:?}");
        }
    }
}

#[test]
fn a_build_without_room_stands_still_and_asks_once() {
    let mut stage = stage(|policy| policy.budget.per_build = tokens(100));
    reserve(&mut stage, "a", 60);
    let events = reserve(&mut stage, "b", 60);
    assert!(happened(&events, "agent.build_paused"));
    let build = stage.state.builds().next().unwrap();
    assert_eq!(build.state, BuildState::Paused { cause: PauseCause::Budget });
    assert_eq!(build.open_questions, 0, "it does not count as an open question");
    assert!(stage.state.outstanding_effects().is_empty());
    stage.answer(Decision::Continue);
    assert_eq!(stage.state.outstanding_effects().len(), 2);
    assert!(!happened(&reserve(&mut stage, "b", 60), "agent.build_paused"));
}

// B87
#[test]
fn a_build_keeps_the_limit_that_it_was_started_with() {
    let limited = |name: &str| {
        let mut task = task(name);
        task.overrides.build_budget = Some(tokens(100));
        task
    };
    let mut policy = Policy::default();
    policy.budget.per_build = tokens(1_000);
    let mut stage = Stage::with(policy);
    stage.build(vec![limited("a"), limited("b")]);
    reserve(&mut stage, "a", 60);
    assert!(happened(&reserve(&mut stage, "b", 60), "agent.build_paused"));
    stage.answer(Decision::Continue);
    let build = stage.state.builds().next().unwrap();
    assert_eq!(build.raised, tokens(100), "by the same limit, not by the project's");
    stage.build(vec![task("c")]);
    assert!(!happened(&reserve(&mut stage, "c", 600), "agent.build_paused"));
}

// TX17
#[test]
fn a_day_without_room_is_slept_through_again_and_again() {
    let mut stage = stage(|policy| policy.budget.per_day = tokens(100));
    for day in 0..4 {
        reserve(&mut stage, "a", 80);
        spend(&mut stage, "a", 80);
        let events = reserve(&mut stage, "a", 80);
        assert!(happened(&events, "agent.sleeping"), "day {day}");
        assert_eq!(stage.state.questions().count(), 0);
        let waited = stage.wait();
        assert!(waited <= Span::from_hours(24));
        assert!(matches!(stage.owed("a").what, EffectKind::Attempt { .. }));
    }
}

#[test]
fn a_call_that_no_day_can_pay_for_is_asked_about_instead_of_slept_on() {
    let mut stage = stage(|policy| policy.budget.per_day = tokens(100));
    let events = reserve(&mut stage, "a", 101);
    assert!(!happened(&events, "agent.sleeping"));
    assert!(happened(&events, "agent.build_paused"));
}

#[test]
fn an_answer_about_a_day_without_room_lifts_its_limit_for_that_day() {
    let mut stage = stage(|policy| policy.budget.per_day = tokens(50));
    for (spent, in_all) in [(0, 450), (60, 850)] {
        spend(&mut stage, "a", spent);
        assert!(happened(&reserve(&mut stage, "a", 400), "agent.build_paused"));
        let text = question_text(&stage.state, stage.question(), stage.now);
        assert!(text.problem.contains("The budget for today is"), "{}", text.problem);
        let going_on = format!("may spend 400 tokens more ({in_all} tokens in all) today");
        assert!(text.options[0].description.contains(&going_on), "{:?}", text.options[0]);
        stage.answer(Decision::Continue);
        assert!(!happened(&reserve(&mut stage, "a", 400), "agent.build_paused"));
    }
    let build = stage.state.builds().next().unwrap();
    assert_eq!(build.raised, Amount::ZERO, "the limit of the build itself is another");
    // The raise is over with the day.
    stage.now = stage.now + Span::from_hours(24);
    assert!(happened(&reserve(&mut stage, "a", 400), "agent.build_paused"));
    assert!(
        question_text(&stage.state, stage.question(), stage.now).problem.contains("is 50 tokens")
    );
}

#[test]
fn a_build_of_an_older_version_has_no_raised_day() {
    let mut stage = stage(|_| {});
    let effect = stage.effect_id("a");
    stage.must(Command::Reserve { effect, amount: tokens(1) });
    let build = stage.state.builds().next().unwrap();
    let written = serde_json::to_value(build).unwrap();
    assert!(written.get("raised_day").is_none(), "{written}");
    assert_eq!(&serde_json::from_value::<Build>(written).unwrap(), build);
}

#[test]
fn what_a_run_had_reserved_is_free_when_it_ends() {
    let mut stage = stage(|policy| policy.budget.per_build = tokens(100));
    reserve(&mut stage, "a", 100);
    stage.attempt("a");
    assert!(!happened(&reserve(&mut stage, "b", 100), "agent.build_paused"));
    stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(stage.state.reserved_today(), Amount::ZERO);
}

#[test]
fn a_build_that_is_emptied_while_it_stands_still_is_over_and_asks_nothing_more() {
    let mut stage = stage(|policy| policy.budget.per_build = tokens(100));
    reserve(&mut stage, "a", 60);
    reserve(&mut stage, "b", 60);
    assert_eq!(stage.state.questions().count(), 1);
    for name in ["a", "b"] {
        let task = stage.id(name);
        stage.must(Command::Skip { task });
    }
    assert_eq!(stage.state.builds().next().unwrap().state, BuildState::Completed);
    assert_eq!(stage.state.questions().count(), 0);
}

#[test]
fn the_money_that_is_left_is_the_least_of_all_caps() {
    let left = |set: fn(&mut Policy)| {
        let mut stage = stage(set);
        let effect = stage.effect_id("a");
        let spent = Amount { money_micros: 30, ..Amount::ZERO };
        stage.must(Command::Progress {
            effect,
            report: ProgressReport { spent, ..ProgressReport::default() },
        });
        let (task, budget) = (stage.id("a"), stage.policy.budget);
        budget_left(&stage.state, &budget, stage.now, task).money_micros
    };
    assert_eq!(left(|_| {}), None);
    assert_eq!(left(|policy| policy.budget.per_task.money_micros = 100), Some(70));
    assert_eq!(left(|policy| policy.budget.per_day.money_micros = 20), Some(0));
    let both = |policy: &mut Policy| {
        policy.budget.per_task.money_micros = 100;
        policy.budget.per_build.money_micros = 50;
    };
    assert_eq!(left(both), Some(20));
}

#[test]
fn a_program_that_ends_for_want_of_money_has_spent_the_budget_that_is_spent() {
    let mut stage = stage(|policy| policy.budget.per_build.money_micros = 50);
    let unnamed = BudgetSpent { unit: "money".to_owned(), ..BudgetSpent::default() };
    let fault = Fault::budget_exhausted("claude-cli", "its budget is spent", unnamed);
    let spent = Amount { money_micros: 60, ..Amount::ZERO };
    let effect = stage.effect_id("a");
    let outcome = EffectOutcome::Failed { fault: fault.into(), approach: None };
    stage.must(Command::Settle { effect, outcome, spent });
    let build = stage.state.builds().next().unwrap();
    assert_eq!(build.state, BuildState::Paused { cause: PauseCause::Budget });
    assert!(
        question_text(&stage.state, stage.question(), stage.now).problem.contains("this build")
    );
}
