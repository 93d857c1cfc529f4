//! Limits of accounts and budgets of days outlast the process, and are shared.

use std::sync::Arc;

use unstuck_core::engine::{EffectKind, EffectOutcome, State, TaskState};
use unstuck_core::fault::{Fault, RateLimit};
use unstuck_core::policy::{Amount, BudgetLimits, Policy};
use unstuck_core::time::Span;
use unstuck_runner::{Clock as _, EffectRequest, GateMirror, RunnerSetup};
use unstuck_store::MemoryStore;

use crate::event_loop::virtual_loop::{Reaction, Stage, VirtualClock, all_well, goes_well};

fn limited_once(order: &EffectRequest, times: u32) -> Reaction {
    match order.effect.what {
        EffectKind::Attempt { .. } if times == 1 => {
            let limit = RateLimit { status: Some(429), limited: None };
            let fault = Fault::provider_rate_limit("agent", "slow down", limit);
            let fault = Arc::new(fault.with_retry_after(Span::from_mins(10)));
            Reaction::Ends(EffectOutcome::Failed { fault, approach: None })
        }
        _ => Reaction::Ends(goes_well(order)),
    }
}

fn waits(state: &State) -> bool {
    state.tasks().all(|task| matches!(task.state, TaskState::BackingOff { .. }))
}

// B2
#[tokio::test(start_paused = true)]
async fn another_project_on_the_same_account_waits_without_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let gates = |own: &str| Some(GateMirror::new(folder.path().join("gates"), own));
    let clock = Arc::<VirtualClock>::default();
    let began = clock.now();
    let shared = |setup: &mut RunnerSetup| setup.gates = gates("one");
    let one = Stage::with(MemoryStore::new(), Arc::clone(&clock), shared, limited_once).await;
    one.build(1, 1).await;
    one.wait_until(waits).await;
    let shared = |setup: &mut RunnerSetup| setup.gates = gates("two");
    let two = Stage::with(MemoryStore::new(), Arc::clone(&clock), shared, all_well).await;
    two.build(1, 1).await;
    two.wait_until(waits).await;
    assert_eq!(two.performed(|_| true), 0, "no attempt was made");
    tokio::join!(one.completed(), two.completed());
    assert!(clock.now().since(began) >= Span::from_mins(10));
    let left = std::fs::read_dir(folder.path().join("gates")).unwrap().count();
    assert_eq!(left, 0, "the gate is open again for all");
}

// TX17: each task costs a whole day's budget, so it takes four days; every night it is killed.
#[tokio::test(start_paused = true)]
async fn a_build_sleeps_from_day_to_day_through_crashes() {
    let cost = Amount { money_micros: 100, ..Amount::ZERO };
    let budget = BudgetLimits { per_day: cost, ..BudgetLimits::default() };
    let policy = Arc::new(Policy { budget, ..Policy::default() });
    let rule = move |order: &EffectRequest, _| match order.effect.what {
        EffectKind::Attempt { .. } => Reaction::Costs(cost, goes_well(order)),
        _ => Reaction::Ends(goes_well(order)),
    };
    let mut clock = Arc::<VirtualClock>::default();
    let mut store = MemoryStore::new();
    let began = clock.now();
    for night in 0..4 {
        let limits = |setup: &mut RunnerSetup| setup.policy = Arc::clone(&policy);
        let stage = Stage::with(store, clock, limits, rule).await;
        if night == 0 {
            stage.build(4, 1).await;
        }
        let done = move |state: &State| {
            state.tasks().filter(|task| task.state == TaskState::Done).count() > night
        };
        stage.wait_until(done).await;
        let spent = stage.look(State::spent_today).await;
        assert_eq!(spent, cost, "a new day has a new budget");
        (store, clock) = stage.crash().await;
    }
    let days = clock.now().since(began).as_millis() / Span::from_hours(24).as_millis();
    assert!((2..=4).contains(&days), "it took {days} days");
}
