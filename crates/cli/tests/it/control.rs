//! The verbs that control a build, each from a second process: while a run is alive and while none
//! is.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    BuildId, BuildState, Command, EffectOutcome, Event, GateState, State, TaskId, TaskState,
};
use unstuck_core::fault::{Fault, RateLimit};
use unstuck_core::plan::{GateKey, Plan, TaskSpec};
use unstuck_core::time::Span;
use unstuck_runner::{EffectRequest, EffectResult, Performer};
use unstuck_store::tables::TaskRow;

use crate::program::unstuck;
use crate::shop::{JOB, Night, PREVIEW, SHOP, Shop};

const BUILD: BuildId = BuildId(0);
const ACCOUNT: GateKey = GateKey(7);

impl Shop {
    fn build_state(&self) -> BuildState {
        let rows = self.runtime.block_on(self.store.load_builds(SHOP)).unwrap();
        rows.iter().find(|row| row.id == BUILD).unwrap().state
    }

    fn task(&self, id: TaskId) -> TaskRow {
        let builds = self.runtime.block_on(self.store.load_builds(SHOP)).unwrap();
        let rows = builds.iter().flat_map(|build| {
            self.runtime.block_on(self.store.load_build_tasks(SHOP, build.id)).unwrap()
        });
        rows.into_iter().find(|row| row.id == id).unwrap()
    }

    /// Runs the program, which says this and ends well.
    fn says(&self, args: &[&str], said: &str) {
        let ran = self.unstuck(args);
        assert_eq!((ran.exit, ran.stdout.trim_end()), (0, said), "{ran}");
    }

    /// Runs the program, which refuses. Returns the reason and the hint that it gives.
    fn refuses(&self, args: &[&str]) -> String {
        let ran = self.unstuck(args);
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{ran}");
        format!("$ unstuck {}\n{}", args.join(" "), ran.stderr)
    }

    /// Checks the state in the memory of the process at work.
    fn sees(&self, night: &Night, wanted: impl Fn(&State) -> bool + Clone + Send + 'static) {
        assert!(self.runtime.block_on(night.handle.read_state(wanted)).unwrap());
    }

    /// Three tasks of which two wait for an account that is limited, and one needs the first.
    fn limited() -> (Self, Night) {
        let shop = Self::new();
        let night = shop.hold_with(Arc::new(Limited));
        let task = |name: &str, needs: &[&str]| TaskSpec {
            name: name.to_owned(),
            gate: ACCOUNT,
            depends_on: needs.iter().map(|&name| name.to_owned()).collect(),
            ..TaskSpec::default()
        };
        let tasks =
            vec![task("001-api", &[]), task("api-two", &[]), task("api-three", &["001-api"])];
        let plan = Arc::new(Plan::new(tasks).unwrap());
        shop.send(&night, Command::StartBuild { plan, slots: 4, in_place: false });
        shop.until(&night, |state| {
            let waits = |id| matches!(state.task(id).unwrap().state, TaskState::BackingOff { .. });
            waits(TaskId(0)) && waits(TaskId(1))
        });
        shop.send(&night, Command::Wake);
        (shop, night)
    }
}

/// A world in which an account is limited for half an hour, each time anew.
struct Limited;

#[async_trait]
impl Performer for Limited {
    async fn perform_effect(&self, _: EffectRequest, _: CancellationToken) -> Option<EffectResult> {
        let fault = Fault::provider_rate_limit("agent", "429", RateLimit::default());
        let fault = Arc::new(fault.with_retry_after(Span::from_mins(30)));
        Some(EffectResult::from(EffectOutcome::Failed { fault, approach: None }))
    }

    async fn reap_leftovers(&self, _tasks: &[TaskId]) {}
}

#[test]
fn help_of_each() {
    for verb in ["pause", "cancel", "kick", "retry", "skip"] {
        insta::assert_snapshot!(format!("help_of_{verb}"), unstuck(&[verb, "--help"]));
    }
}

// B18
#[test]
fn a_build_is_paused_while_a_process_is_at_work() {
    let (shop, night) = Shop::after_a_night();
    shop.says(&["pause"], "Build b0 is paused. `unstuck resume` continues it.");
    shop.sees(&night, |state| {
        let runs = state.tasks().any(|task| matches!(task.state, TaskState::Running { .. }));
        matches!(state.build(BUILD).unwrap().state, BuildState::Paused { .. })
            && state.build(BUILD).unwrap().held.len() == usize::from(runs)
    });
    shop.let_go(night);
    assert!(matches!(shop.build_state(), BuildState::Paused { .. }));
}

// B18
#[test]
fn a_build_is_paused_while_no_process_is_at_work() {
    let shop = Shop::left_alone();
    shop.says(&["pause", "b0"], "Build b0 is paused. `unstuck resume` continues it.");
    assert!(matches!(shop.build_state(), BuildState::Paused { .. }));
    let status = shop.unstuck(&["status"]);
    assert!(status.stdout.contains("  `unstuck resume` continues it.\n"), "{status}");
    let night = shop.hold();
    shop.sees(&night, |state| {
        matches!(state.build(BUILD).unwrap().state, BuildState::Paused { .. })
    });
    shop.let_go(night);
}

#[test]
fn as_json_they_give_the_events() {
    let shop = Shop::left_alone();
    let events = shop.json(&["pause", "--json"]);
    let types: Vec<&str> =
        events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(types.contains(&"agent.build_paused"), "{types:?}");
    assert_eq!(shop.json(&["kick", "--json"]), serde_json::json!([]));
}

#[test]
fn a_build_is_cancelled_only_with_consent() {
    let shop = Shop::left_alone();
    let asked = shop.refuses(&["cancel"]);
    assert!(matches!(shop.build_state(), BuildState::Running));
    shop.says(
        &["cancel", "--yes"],
        "Build b0 is ended. What is done is kept: `unstuck land b0` shows it.",
    );
    assert_eq!(shop.build_state(), BuildState::Cancelled);
    let said = [
        asked,
        shop.refuses(&["cancel", "--yes"]),
        shop.refuses(&["cancel", "b0"]),
        shop.refuses(&["cancel", "b1", "--yes"]),
        shop.refuses(&["cancel", "b9"]),
        shop.refuses(&["cancel", "x"]),
    ];
    insta::assert_snapshot!("cancel_refused", said.join("\n"));
}

// B18
#[test]
fn a_build_is_cancelled_while_a_process_is_at_work() {
    let (shop, night) = Shop::after_a_night();
    shop.unstuck(&["cancel", "-y"]).exits(0);
    shop.sees(&night, |state| state.build(BUILD).unwrap().state == BuildState::Cancelled);
    shop.let_go(night);
}

// B18
#[test]
fn a_wait_ends_early_by_the_name_of_its_task() {
    let (shop, night) = Shop::after_a_night();
    shop.says(&["kick", "back"], "“Nightly backup” waits no longer. It continues now.");
    // It runs and fails again, and waits anew.
    shop.until(&night, |state| {
        let job = state.task(JOB).unwrap();
        job.executions == 2 && matches!(job.state, TaskState::BackingOff { .. })
    });
    shop.let_go(night);
    shop.says(&["kick", "t6"], "“Nightly backup” waits no longer. It continues at the next start.");
    assert!(matches!(shop.task(JOB).moved.state, TaskState::Running { .. }));
}

#[test]
fn without_a_task_the_newest_build_is_kicked_and_then_the_jobs() {
    let shop = Shop::left_alone();
    shop.says(&["kick"], "Build b0 has no wait to end.");
    assert!(matches!(shop.task(JOB).moved.state, TaskState::BackingOff { .. }));
    assert_eq!(shop.unstuck(&["cancel", "--yes"]).exit, 0);
    shop.says(&["kick"], "One wait of the jobs is over. It continues at the next start.");
    shop.says(&["kick"], "The jobs have no wait to end.");
    assert_eq!(Shop::new().unstuck(&["kick"]).exit, 2);
}

// B18: one of those who wait for the account tries first.
#[test]
fn a_limited_account_is_tried_at_once() {
    let (shop, night) = Shop::limited();
    let before = shop.newest();
    shop.says(&["kick"], "One wait of build b0 is over. It continues now.");
    shop.until(&night, |state| {
        matches!(state.gate(ACCOUNT).unwrap().state, GateState::Waiting { .. })
    });
    shop.let_go(night);
    let probes = || {
        let page = unstuck_store::EventPage { after: before, limit: u32::MAX };
        let events = shop.runtime.block_on(shop.store.load_events(SHOP, page)).unwrap();
        let probing = |event: &Event| matches!(event, Event::GateProbing { .. });
        events.iter().filter(|recorded| probing(&recorded.event)).count()
    };
    assert_eq!(probes(), 1);
    shop.says(&["kick"], "One wait of build b0 is over. It continues at the next start.");
    assert_eq!(probes(), 2);
}

// B18
#[test]
fn a_task_is_left_out_and_taken_back() {
    let shop = Shop::left_alone();
    let asked = shop.refuses(&["skip", "preview"]);
    shop.says(
        &["skip", "prev", "--yes"],
        "“Deploy the preview” is skipped. `unstuck retry t2` undoes that.",
    );
    assert!(matches!(shop.task(PREVIEW).moved.state, TaskState::Skipped { .. }));
    let again = shop.refuses(&["skip", "t2"]);
    shop.says(
        &["retry", "2"],
        "“Deploy the preview” is scheduled again. It continues at the next start.",
    );
    assert!(matches!(shop.task(PREVIEW).moved.state, TaskState::Pending { .. }));
    let said = [
        asked,
        again,
        shop.refuses(&["skip", "notes"]),
        shop.refuses(&["retry", "notes"]),
        shop.refuses(&["retry", "search"]),
        shop.refuses(&["retry", "backup"]),
        shop.refuses(&["kick", "search"]),
        shop.refuses(&["kick", "tidy"]),
        shop.refuses(&["kick", "wibble"]),
        shop.refuses(&["kick", "99"]),
    ];
    insta::assert_snapshot!("tasks_refused", said.join("\n"));
}

// B18
#[test]
fn what_needs_a_task_goes_and_comes_with_it() {
    let (shop, night) = Shop::limited();
    let asked = shop.refuses(&["skip", "001"]);
    assert!(asked.contains("1 task that needs it is skipped too"), "{asked}");
    shop.says(
        &["skip", "001", "--yes"],
        "“001-api” is skipped, and 1 task that needs it. `unstuck retry t0` undoes that.",
    );
    shop.says(
        &["retry", "001-api"],
        "“001-api” is scheduled again, and 1 task that needs it. It continues now.",
    );
    insta::assert_snapshot!("ambiguous", shop.refuses(&["kick", "api-t"]));
    let refused = shop.refuses(&["pause", "0x"]);
    assert!(refused.contains("write its number, such as 3 or b3"), "{refused}");
    shop.let_go(night);
}

// B18: the holder and a command without a holder refuse with the same words.
#[test]
fn what_does_not_fit_is_refused_alike_with_and_without_a_holder() {
    let (shop, night) = Shop::after_a_night();
    shop.says(&["pause"], "Build b0 is paused. `unstuck resume` continues it.");
    let alive = shop.refuses(&["pause"]);
    shop.let_go(night);
    assert_eq!(alive, shop.refuses(&["pause"]));
    insta::assert_snapshot!("paused_twice", alive);
}
