//! When something has to be waited for.

use unstuck_core::engine::Event;
use unstuck_core::fault::Code;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::time::Span;
use unstuck_runner::Clock as _;
use unstuck_world::fake::server::{
    FakeAnswer, FakeFailure, FakeHttpError, FakeRetryAfter, FakeScript,
};

use crate::agent::model_project::Stage;
use crate::agent::wire::{check, done, read, results, run, text, write};

// T1.1, T4.9, B12: the same run, worktree and conversation, and no count moves.
#[tokio::test]
async fn a_limited_account_pauses_the_run_and_the_conversation_goes_on() {
    let limit = FakeAnswer::Error(FakeHttpError::RateLimit(FakeRetryAfter::Seconds(30)));
    let script = FakeScript::new([write("src/greeting", "Hi\n"), limit], done());
    let mut stage = Stage::new(script).await;
    let began = stage.clock.now();
    stage.completed().await;
    assert!(stage.clock.now().since(began) >= Span::from_secs(30));
    let asked = stage.asked_of("a");
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[1], asked[2], "the very conversation that was refused");
    assert_eq!(stage.file(0, "src/greeting"), "Hi\n");
    assert_eq!(stage.faults(), [Code::ProviderRateLimit]);
    let counted = stage.look(|state| state.signatures().iter().map(|(_, r)| r.count).sum::<u32>());
    assert_eq!(counted.await, 0);
    let began = |event: &&Event| matches!(event, Event::RunStarted { .. });
    assert_eq!(stage.happened().iter().filter(began).count(), 1);
    let resumed = |event: &&Event| matches!(event, Event::RunResumed { .. });
    assert_eq!(stage.happened().iter().filter(resumed).count(), 1);
}

// TX11: as long as the service says, and a little more so that not all come back at once.
#[tokio::test]
async fn a_wait_that_the_service_asks_for_is_kept_to() {
    let limit = FakeAnswer::Error(FakeHttpError::RateLimit(FakeRetryAfter::Seconds(30)));
    let mut stage = Stage::new(FakeScript::new([limit], done())).await;
    let began = stage.clock.now();
    stage.completed().await;
    let waited = stage.clock.now().since(began);
    assert!((Span::from_secs(30)..=Span::from_secs(33)).contains(&waited), "{waited:?}");
    // Once more, because it changed nothing.
    assert_eq!(stage.asked_of("a").len(), 3);
}

// TX11: the time that may be waited ends it, not the number of calls.
#[tokio::test]
async fn an_account_that_stays_limited_ends_in_a_question() {
    let limit = FakeAnswer::Error(FakeHttpError::RateLimit(FakeRetryAfter::Unsaid));
    let mut stage = Stage::new(FakeScript::from(limit)).await;
    let began = stage.clock.now();
    stage.asked().await;
    assert!(stage.clock.now().since(began) >= Policy::default().wait.limited_ms);
    let calls = stage.asked_of("a").len();
    assert!(calls < 50, "{calls} calls");
    assert!(stage.faults().iter().all(|code| *code == Code::ProviderRateLimit));
}

// T1.1
#[tokio::test]
async fn trouble_of_the_service_is_never_the_works() {
    for trouble in [
        FakeAnswer::Error(FakeHttpError::Overloaded),
        FakeAnswer::Trouble(FakeFailure::Cut),
        FakeAnswer::Error(FakeHttpError::Internal),
    ] {
        let script = FakeScript::new([read("src/greeting"), trouble.clone()], done());
        let mut stage = Stage::new(script).await;
        stage.completed().await;
        let asked = stage.asked_of("a");
        assert_eq!(asked[1], asked[2], "{trouble:?}");
        let counted =
            stage.look(|state| state.signatures().iter().map(|(_, r)| r.count).sum::<u32>()).await;
        assert_eq!(counted, 0, "{trouble:?}");
    }
}

// T2.6: the command is never run again by us.
#[tokio::test]
async fn what_may_pass_is_waited_out_before_the_agent_hears_of_it() {
    let command =
        "echo x >> src/count; echo 'curl: (7) Failed to connect: Connection refused'; exit 7";
    let mut stage = Stage::new(FakeScript::new([run(command)], done())).await;
    let began = stage.clock.now();
    stage.completed().await;
    assert!(stage.clock.now().since(began) >= Span::from_secs(1));
    let (_, said, failed) = results(&stage.asked_of("a")[1]).remove(0);
    assert!(failed && said.contains("try again if it is safe to"), "{said}");
    assert_eq!(stage.faults(), [Code::EnvConnection]);
    assert_eq!(stage.file(0, "src/count"), "x\n");
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_shortened_and_goes_on() {
    let reads = (0..6).map(|n| run(&format!("seq 1 3000; echo {n}")));
    let long = FakeAnswer::Error(FakeHttpError::ContextTooLong);
    let script = FakeScript::new(reads.chain([long]).collect::<Vec<_>>(), done());
    let mut stage = Stage::new(script).await;
    stage.completed().await;
    let asked = stage.asked_of("a");
    // Once more, because it changed nothing.
    assert_eq!(asked.len(), 9);
    let (before, after) = (asked[6].to_string(), asked[7].to_string());
    assert!(after.len() < before.len() * 7 / 10, "{} of {}", after.len(), before.len());
    assert!(text(&asked[7]).contains("Make the greeting friendly."));
    assert!(text(&asked[7]).contains("What was done there") && after.contains("echo 0"));
    check(&asked[7]);
    assert_eq!(stage.faults(), [Code::ProviderContextTooLong]);
}

// I12: no call is made that there is no room for.
#[tokio::test]
async fn a_call_that_the_budget_has_no_room_for_is_not_made() {
    let mut policy = Policy::default();
    policy.budget.per_task = Amount { tokens: 500, ..Amount::ZERO };
    let mut stage = Stage::with(policy, [("a", FakeScript::from(done()))]).await;
    stage.asked().await;
    assert_eq!(stage.asked_of("a").len(), 0);
    assert_eq!(stage.faults(), [Code::BudgetExhausted]);
}

#[tokio::test]
async fn a_budget_that_is_nearly_spent_is_said_once() {
    let mut policy = Policy::default();
    policy.budget.per_task = Amount { tokens: 100_000, ..Amount::ZERO };
    policy.budget.wind_down_percent = 1;
    let script = FakeScript::new([read("src/greeting"), read("src/greeting")], done());
    let mut stage = Stage::with(policy, [("a", script)]).await;
    stage.completed().await;
    let last = stage.asked_of("a")[2].to_string();
    assert_eq!(last.matches("nearly spent").count(), 1, "{last}");
}
