//! Models behind an API work on the tasks of a build, with the real loop and the real tools.

use serde_json::json;
use unstuck_core::engine::{Command, Event, RecordedEvent};
use unstuck_core::fault::Code;
use unstuck_core::plan::GateKey;
use unstuck_testkit::stage::TestRepo;
use unstuck_world::fake::server::{FakeAnswer, FakeHttpError, FakeRetryAfter, FakeScript};

use crate::build::build_project::{CANARY, Stage};
use crate::build::fifo::Fifo;
use crate::build::going_on::waiting;
use crate::build::scripts::{Job, Mind};
use crate::build::wire::{check, done, read, results, run, text, write};

const GREETS: &str =
    "grep -qE 'Go away|Welcome' greeting || { echo 'FAILED test_greeting - no such'; exit 1; }";

fn repo() -> TestRepo {
    TestRepo::with(&[("greeting", "Go away.\n"), ("ask", "Who are you?\n")])
}

#[tokio::test]
async fn two_models_edit_run_narrate_and_what_they_did_is_merged() {
    let edit = json!({"path": "greeting", "old": "Go away.", "new": "Welcome!"});
    let first = Mind::anthropic(FakeScript::new(
        [
            FakeAnswer::with_call("narrate", &json!({"text": "I make it friendly."})),
            FakeAnswer::with_call("edit_file", &edit),
            run("cat greeting; echo token=$CANARY."),
        ],
        done(),
    ));
    let second =
        Mind::openai(FakeScript::new([read("greeting"), write("ask", "How are you?\n")], done()));
    let (first, second) = (first.await, second.await);
    let jobs = vec![
        Job::thought_out("a", &first).checked(GREETS),
        Job { gate: GateKey(2), ..Job::thought_out("b", &second) }.checked(GREETS).after("a"),
    ];
    let stage = Stage::build(repo(), jobs).await;
    stage.done().await;
    assert_eq!(stage.fault_codes().await, []);
    assert_eq!(stage.repo.subjects(&format!("main..{}", Stage::branch())), ["Do a", "Do b"]);
    let landed = |path| stage.repo.file_at(&Stage::branch(), path).unwrap();
    assert_eq!((landed("greeting").as_str(), landed("ask").as_str()), ("Welcome!", "How are you?"));
    assert!(stage.narrations().await.contains(&"I make it friendly.".to_owned()));
    let asked = first.asked();
    assert_eq!(asked.len(), 4);
    asked.iter().for_each(check);
    assert!(text(&asked[0]).contains("the goal of a"));
    // B9: what agents may know is not what their commands get.
    assert_eq!(results(&asked[3])[0].1, "Welcome!\ntoken=.");
    let spoken = second.server.model_calls();
    assert_eq!(spoken.len(), 3);
    assert!(spoken[1].json().to_string().contains("Welcome!"), "it starts from what was merged");
    let spent = stage.look(|state| state.tasks().map(|task| task.spent.tokens).min()).await;
    assert!(spent > Some(0));
}

// T4.11: the words of the red check are at the head of the next conversation.
#[tokio::test]
async fn a_red_check_begins_another_conversation_that_knows_why() {
    let script = [write("greeting", "Hello.\n"), done(), write("greeting", "Welcome!\n")];
    let mind = Mind::anthropic(FakeScript::new(script, done())).await;
    let stage = Stage::build(repo(), vec![Job::thought_out("a", &mind).checked(GREETS)]).await;
    stage.done().await;
    assert_eq!(stage.fault_codes().await, [Code::ValidationPreCommit]);
    let asked = mind.asked();
    assert_eq!(asked[2].as_array().unwrap().len(), 1, "a new conversation");
    assert!(text(&asked[2]).contains("FAILED test_greeting"), "{}", text(&asked[2]));
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["greeting"]);
}

// T1.1, T4.9: in the middle of the work, the same conversation goes on after the wait.
#[tokio::test]
async fn an_overloaded_service_is_waited_for_and_costs_nothing() {
    let script = [write("greeting", "Welcome!\n"), FakeAnswer::Error(FakeHttpError::Overloaded)];
    let mind = Mind::anthropic(FakeScript::new(script, done())).await;
    let stage = Stage::build(repo(), vec![Job::thought_out("a", &mind).checked(GREETS)]).await;
    stage.done().await;
    assert_eq!(stage.fault_codes().await, [Code::ProviderOverloaded]);
    let asked = mind.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[1], asked[2], "nothing is said about it, and nothing is done again");
    let retrying = |recorded: &RecordedEvent| matches!(recorded.event, Event::Retrying { .. });
    assert!(!stage.events().await.iter().any(retrying), "it is charged to no task");
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_goes_on_shorter() {
    let mut script: Vec<FakeAnswer> = vec![write("greeting", "Welcome!\n")];
    script.extend((0..5).map(|n| run(&format!("echo look {n}"))));
    script.push(FakeAnswer::Error(FakeHttpError::ContextTooLong));
    let mind = Mind::anthropic(FakeScript::new(script, done())).await;
    let stage = Stage::build(repo(), vec![Job::thought_out("a", &mind).checked(GREETS)]).await;
    stage.done().await;
    assert_eq!(stage.fault_codes().await, [Code::ProviderContextTooLong]);
    let asked = mind.asked();
    let lengths: Vec<usize> = asked.iter().map(|said| said.as_array().unwrap().len()).collect();
    assert_eq!(lengths, [1, 3, 5, 7, 9, 11, 13, 7]);
    check(&asked[7]);
    let said = text(&asked[7]);
    assert!(said.contains("the goal of a") && said.contains("look 4"), "{said}");
    assert!(said.contains("- write_file {"), "what was done is still known: {said}");
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["greeting"]);
}

// B12: after a kill the conversation goes on, and no round that is over is done again.
#[tokio::test]
async fn after_a_kill_a_model_goes_on_from_its_conversation() {
    let repo = repo();
    let once = format!("echo once >> {}", repo.beside("count").display());
    let script = [write("greeting", "Welcome!\n"), run(&once), run("sleep 600")];
    let mind = Mind::anthropic(FakeScript::new(script, done())).await;
    let stage = Stage::build(repo, vec![Job::thought_out("a", &mind).checked(GREETS)]).await;
    stage.calls(3).await;
    let stage = stage.crash().await;
    stage.done().await;
    let asked = mind.asked();
    assert_eq!(asked.len(), 4, "nothing is asked twice");
    check(&asked[3]);
    let last = results(&asked[3]);
    assert!(
        last[0].1.starts_with("no result is known: it may have taken effect") && last[0].2,
        "{last:?}"
    );
    assert_eq!(std::fs::read_to_string(stage.repo.beside("count")).unwrap(), "once\n");
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["greeting"]);
    let journal = serde_json::to_string(&stage.events().await).unwrap();
    assert!(!journal.contains(CANARY));
}

// B2: one limit, told once, holds both, and both go on from their conversations.
#[tokio::test]
async fn two_models_on_one_account_wait_for_one_limit() {
    let repo = repo();
    let gate = Fifo::new(&repo, "gate");
    let limited = |after| FakeAnswer::Error(FakeHttpError::RateLimit(after));
    let first = [write("one", "1\n"), limited(FakeRetryAfter::Seconds(3_600))];
    let second = [
        run(&format!("cat {}", gate.path().display())),
        limited(FakeRetryAfter::Unsaid),
        write("two", "2\n"),
    ];
    let first = Mind::anthropic(FakeScript::new(first, done())).await;
    let second = Mind::openai(FakeScript::new(second, done())).await;
    let jobs = vec![Job::thought_out("a", &first), Job::thought_out("b", &second)];
    let stage = Stage::build(repo, jobs).await;
    stage.wait_until(|state| waiting(state) == 1).await;
    gate.let_go().await;
    stage.wait_until(|state| waiting(state) == 2).await;
    assert_eq!((first.server.model_calls().len(), second.server.model_calls().len()), (2, 2));
    stage.submit(Command::KickGate { gate: GateKey(1) }).await;
    stage.done().await;
    let told = |recorded: &&RecordedEvent| matches!(recorded.event, Event::GateWaiting { .. });
    assert_eq!(stage.events().await.iter().filter(told).count(), 1);
    assert_eq!((first.server.model_calls().len(), second.server.model_calls().len()), (3, 4));
    assert_eq!(stage.repo.subjects(&format!("main..{}", Stage::branch())).len(), 2);
}
