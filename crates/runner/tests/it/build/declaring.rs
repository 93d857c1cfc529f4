//! An action that a model declares with `mutate` is performed after the checks, once, and looked up
//! when its answer is lost.

use serde_json::{Value, json};
use unstuck_core::engine::{Event, MutationState};
use unstuck_core::fault::{Code, Kind};
use unstuck_core::plan::PullRequest;
use unstuck_core::question::Decision;
use unstuck_testkit::stage::{HttpService, SeenRequest, ServiceReply, TestRepo, run_git};
use unstuck_world::fake::server::{FakeAnswer, FakeScript};
use unstuck_world::process::Wall;

use crate::build::build_project::{Stage, TOKEN};
use crate::build::scripts::{Job, Mind};
use crate::build::wire::{done, results, write};

fn declare(key: &str, action: &Value) -> FakeAnswer {
    FakeAnswer::with_call("mutate", &json!({"key": key, "action": action}))
}

fn order(service: &HttpService) -> Value {
    json!({
        "kind": "http",
        "url": service.url("/orders"),
        "headers": {"content-type": "application/json"},
        "secrets": [{"name": "authorization", "before": "Bearer ", "variable": "TOKEN"}],
        "body": "{\"cakes\":1}",
        "look_up_url": service.url("/orders/1"),
    })
}

async fn thinking(script: impl IntoIterator<Item = FakeAnswer>) -> Mind {
    let script = [write("a", "a\n")].into_iter().chain(script);
    Mind::anthropic(FakeScript::new(script, done())).await
}

/// The states of the actions of the build in the ledger, by key.
async fn ledger(stage: &Stage) -> Vec<(String, MutationState)> {
    let of = |mutation: &unstuck_core::engine::Mutation| {
        (mutation.spec.key.clone(), mutation.state.clone())
    };
    stage.look(move |state| state.mutations().map(of).collect()).await
}

fn answer(mind: &Mind, at: usize) -> Value {
    serde_json::from_str(&results(&mind.asked()[at])[0].1).unwrap()
}

// TX6, TX8
#[tokio::test]
async fn a_declared_request_is_sent_once_after_the_checks_and_looked_up_when_lost() {
    let rule = |seen: &SeenRequest, _: &[SeenRequest]| match seen.method.as_str() {
        "POST" => ServiceReply::Cut,
        _ => ServiceReply::Answer(200, "order 1"),
    };
    let service = HttpService::start(rule).await;
    let mind = thinking([declare("order", &order(&service))]).await;
    let job = Job::thought_out("a", &mind).checked("test -e a");
    let stage = Stage::build(TestRepo::with(&[]), vec![job]).await;
    stage.done().await;
    let declared = json!({"key": "order", "kind": "http", "state": "declared",
        "runs": "once, after the checks"});
    assert_eq!(answer(&mind, 2), declared);
    let sent = service.seen_requests("POST");
    assert_eq!((sent.len(), service.seen_requests("GET").len()), (1, 1));
    assert_eq!(sent[0].headers["authorization"], format!("Bearer {TOKEN}"));
    let applied = MutationState::Applied { result: "order 1".into() };
    assert!(ledger(&stage).await.contains(&("order".to_owned(), applied)));
    let journal = serde_json::to_string(&stage.events().await).unwrap();
    assert!(!journal.contains(TOKEN));
}

// TX6: the process dies while the answer is awaited.
#[tokio::test]
async fn a_declared_request_that_was_under_way_in_a_crash_is_not_sent_again() {
    let rule = |seen: &SeenRequest, _: &[SeenRequest]| match seen.method.as_str() {
        "POST" => ServiceReply::Silence,
        _ => ServiceReply::Answer(200, "order 1"),
    };
    let service = HttpService::start(rule).await;
    let mind = thinking([declare("order", &order(&service))]).await;
    let stage = Stage::build(TestRepo::with(&[]), vec![Job::thought_out("a", &mind)]).await;
    service.wait_for_requests(1).await;
    let stage = stage.crash().await;
    stage.done().await;
    assert_eq!(service.seen_requests("POST").len(), 1);
    assert_eq!(mind.asked().len(), 3, "the model did not have to think again");
}

// TX8: an action that an attempt before has done answers with its result, and is not done again.
#[tokio::test]
async fn what_was_done_before_answers_with_its_result() {
    let service = HttpService::start(|_: &SeenRequest, _: &[SeenRequest]| {
        ServiceReply::Answer(201, "order 7")
    })
    .await;
    let push = json!({"kind": "git.push"});
    let mind = thinking([
        declare("order", &order(&service)),
        declare("out", &push),
        done(),
        write("a", "b\n"),
        declare("order", &order(&service)),
    ]);
    let mind = mind.await;
    let repo = TestRepo::with(&[]);
    repo.add_remote();
    let check = "grep -q b a || { echo 'FAILED test_a - not b'; exit 1; }".to_owned();
    let job = Job { pre_push: vec![check], ..Job::thought_out("a", &mind) };
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    assert_eq!(service.seen_requests("POST").len(), 1);
    let known = json!({"key": "order", "kind": "http", "state": "applied", "result": "order 7"});
    assert_eq!(answer(&mind, 6), known);
}

#[tokio::test]
async fn commands_pushes_and_pull_requests_are_performed_in_their_order() {
    let pull = r#"{"html_url": "https://git.example/ada/shop/pull/7"}"#;
    let service = HttpService::start(move |_: &SeenRequest, _: &[SeenRequest]| {
        ServiceReply::Answer(201, pull)
    })
    .await;
    let repo = TestRepo::with(&[]);
    let remote = repo.add_remote();
    let line = "echo ${#TOKEN} letters";
    let mind = thinking([
        declare("out", &json!({"kind": "git.push"})),
        FakeAnswer::with_call(
            "mutate",
            &json!({"key": "pr", "after": "out",
            "action": {"kind": "github.pr", "title": "Shop"}}),
        ),
        declare("count", &json!({"kind": "command", "command": line, "secrets": ["TOKEN"]})),
    ]);
    let mind = mind.await;
    let place = PullRequest {
        repository: "ada/shop".to_owned(),
        base: "main".to_owned(),
        base_url: Some(service.url("/api")),
        token_variable: "TOKEN".to_owned(),
        ..PullRequest::default()
    };
    let job = Job { pull_request: Some(place), ..Job::thought_out("a", &mind) };
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    let actions = ledger(&stage).await;
    let keys: Vec<&str> = actions.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["merge", "out", "pr", "count"]);
    let result = format!("{} letters\n", TOKEN.len()).into();
    assert_eq!(actions[3].1, MutationState::Applied { result });
    let there = run_git(&remote, ["rev-parse", &Stage::branch()]);
    assert_eq!(there, stage.repo.git(["rev-parse", &Stage::branch()]));
    assert_eq!(service.seen_requests("POST")[0].path, "/api/repos/ada/shop/pulls");
}

// B9: an action is kept as it is, so it must not hold a secret.
#[tokio::test]
async fn an_action_that_spells_out_a_secret_is_refused() {
    let spelled = json!({"kind": "command", "command": format!("echo {TOKEN}")});
    let mind = thinking([declare("leak", &spelled)]).await;
    let stage = Stage::build(TestRepo::with(&[]), vec![Job::thought_out("a", &mind)]).await;
    stage.done().await;
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::LogicBadInput]);
    let events = stage.events().await;
    assert!(!events.iter().any(|e| matches!(e.event, Event::Declared { .. })));
    assert!(!serde_json::to_string(&events).unwrap().contains(TOKEN));
}

// B16: what no rule allows is shown whole and asked about; nothing runs before the yes.
#[tokio::test]
async fn a_command_that_no_rule_allows_needs_a_persons_yes() {
    let applied = MutationState::Applied { result: "paid\nwith a receipt\n".into() };
    for (decision, came) in
        [(Decision::AllowOnce, applied), (Decision::Deny, MutationState::Skipped)]
    {
        let line = "echo paid && echo 'with a receipt'";
        let mind = thinking([declare("pay", &json!({"kind": "command", "command": line}))]).await;
        let stage = Stage::build(TestRepo::with(&[]), vec![Job::thought_out("a", &mind)]).await;
        let fault = stage.wait_for_question().await.fault.unwrap();
        let Kind::PermissionCommandBlocked(of) = &fault.kind else { panic!("{fault}") };
        assert_eq!(of.what, line, "all of it is shown");
        let pay = ("pay".to_owned(), MutationState::NotApplied);
        assert!(ledger(&stage).await.contains(&pay), "nothing ran before the answer");
        stage.answer(decision, None).await;
        stage.done().await;
        assert!(ledger(&stage).await.contains(&("pay".to_owned(), came)), "{decision}");
        assert_eq!(
            stage.repo.files_changed_by(&Stage::branch()),
            ["a"],
            "the work stays: {decision}"
        );
    }
}

// B16: a rule for one command allows no other, no other host and no probe of the agent's own.
#[tokio::test]
async fn a_rule_allows_what_it_names_and_nothing_else() {
    let actions = [
        json!({"kind": "command", "command": "echo ${#TOKEN} x; curl http://127.0.0.1"}),
        json!({"kind": "command", "command": "echo ${#TOKEN} $(id)"}),
        json!({"kind": "http", "url": "http://localhost:1/orders"}),
        json!({"kind": "http", "url": "http://127.0.0.1:1/", "headers": {"Host": "evil.example"}}),
        json!({"kind": "http", "url": "http://127.0.0.1:1/", "look_up_url": "http://evil.example"}),
    ];
    for action in actions {
        let mind = thinking([declare("pay", &action)]).await;
        let stage = Stage::build(TestRepo::with(&[]), vec![Job::thought_out("a", &mind)]).await;
        let fault = stage.wait_for_question().await.fault.unwrap();
        assert_eq!(fault.code(), Code::PermissionCommandBlocked, "{action}");
    }
}

// The network of an action refuses, and not the service: the question and the log say so.
#[tokio::test]
async fn what_the_network_of_an_action_refuses_is_no_reply_of_a_service() {
    let is_enclosed = Wall { writable: Some(Vec::new()), ..Wall::default() }.is_enclosed();
    for (line, told) in [
        ("curl -fsS http://mail.example/", "names no hosts"),
        ("curl -sS -f http://mail.example/", "refused the connection to mail.example:80"),
    ] {
        let mind = thinking([declare("tell", &json!({"kind": "command", "command": line}))]).await;
        let stage = Stage::build(TestRepo::with(&[]), vec![Job::thought_out("a", &mind)]).await;
        let question = stage.wait_for_question().await;
        let came_back = question.action.unwrap().came_back.unwrap();
        assert_eq!(came_back.contains(told), is_enclosed, "{came_back}");
        let remarked = |event: &Event| {
            matches!(event, Event::Remarked { text, .. }
                if text.contains(told) && text.contains("[[actions.allowed]] hosts = ["))
        };
        let events = stage.events().await;
        assert_eq!(events.iter().any(|recorded| remarked(&recorded.event)), is_enclosed);
    }
}
