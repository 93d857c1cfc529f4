//! Actions outside of git: each happens once, whatever becomes of its answer.

use unstuck_core::engine::{EffectOutcome, Event, RecordedEvent};
use unstuck_core::fault::{Category, Code};
use unstuck_core::plan::{
    Call, CommandCall, HttpCall, MutationSpec, ProbeCommand, PullRequest, SecretHeader,
};
use unstuck_core::time::Span;
use unstuck_testkit::stage::{HttpService, SeenRequest, ServiceReply, TestRepo};
use unstuck_world::connector::Connector;
use unstuck_world::provider::Credential;

use crate::build::build_project::{Stage, TOKEN};
use crate::build::scripts::{Job, write};

async fn build(action: MutationSpec) -> Stage {
    let job = Job::new("a", [&[write("a", "a\n")]]).then(action);
    Stage::build(TestRepo::with(&[]), vec![job]).await
}

fn order(service: &HttpService) -> MutationSpec {
    let header = |name: &str| SecretHeader {
        name: name.to_owned(),
        before: "Bearer ".to_owned(),
        variable: "TOKEN".to_owned(),
    };
    let call = HttpCall {
        url: service.url("/orders"),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        secrets: vec![header("authorization")],
        body: Some("{\"cakes\":1}".to_owned()),
        look_up_url: Some(service.url("/orders/1")),
        ..HttpCall::default()
    };
    MutationSpec::from_call("order", Call::Http(call))
}

/// What came back, as the ledger has it.
async fn result(stage: &Stage) -> String {
    let result = |recorded: &RecordedEvent| match &recorded.event {
        Event::MutationApplied { result, .. } | Event::MutationReconciled { result, .. } => {
            Some(result.to_string())
        }
        _ => None,
    };
    stage.events().await.iter().filter_map(result).next_back().unwrap()
}

// TX6
#[tokio::test]
async fn a_request_whose_answer_was_lost_is_looked_up_and_not_sent_again() {
    let rule = |seen: &SeenRequest, _: &[SeenRequest]| match seen.method.as_str() {
        "POST" => ServiceReply::Cut,
        _ => ServiceReply::Answer(200, "order 1"),
    };
    let service = HttpService::start(rule).await;
    let stage = build(order(&service)).await;
    stage.done().await;
    let sent = service.seen_requests("POST");
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].path.as_str(), sent[0].body.as_str()), ("/orders", "{\"cakes\":1}"));
    assert_eq!(sent[0].headers["authorization"], format!("Bearer {TOKEN}"));
    assert_eq!(sent[0].headers["idempotency-key"].len(), 32);
    assert_eq!(service.seen_requests("GET")[0].path, "/orders/1");
    assert_eq!(result(&stage).await, "order 1");
    assert_eq!(stage.fault_codes().await, [Code::NetworkUnavailable]);
    let journal = serde_json::to_string(&stage.events().await).unwrap();
    assert!(journal.contains("TOKEN") && !journal.contains(TOKEN));
}

// TX6: what certainly did not happen is sent again, under the same key.
#[tokio::test]
async fn a_request_that_did_not_get_through_is_sent_again_with_the_same_key() {
    let rule = |seen: &SeenRequest, before: &[SeenRequest]| match seen.method.as_str() {
        "POST" if before.is_empty() => ServiceReply::Answer(503, "later"),
        "POST" => ServiceReply::Answer(201, "order 2"),
        _ => ServiceReply::Answer(404, "no such order"),
    };
    let service = HttpService::start(rule).await;
    let stage = build(MutationSpec { idempotent: true, ..order(&service) }).await;
    stage.done().await;
    let sent = service.seen_requests("POST");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].headers["idempotency-key"], sent[1].headers["idempotency-key"]);
    assert_eq!(result(&stage).await, "order 2");
}

// TX6, T3.12
#[tokio::test]
async fn a_request_that_was_under_way_in_a_crash_is_looked_up() {
    let rule = |seen: &SeenRequest, _: &[SeenRequest]| match seen.method.as_str() {
        "POST" => ServiceReply::Silence,
        _ => ServiceReply::Answer(200, "order 1"),
    };
    let service = HttpService::start(rule).await;
    let stage = build(order(&service)).await;
    service.wait_for_requests(1).await;
    let stage = stage.crash().await;
    stage.done().await;
    assert_eq!((service.seen_requests("POST").len(), service.seen_requests("GET").len()), (1, 1));
    assert_eq!(result(&stage).await, "order 1");
}

// T3.1: without the secret nothing is sent, and a person is asked for it.
#[tokio::test]
async fn a_secret_that_is_missing_is_asked_for() {
    let service = HttpService::start(|_, _| ServiceReply::Answer(200, "")).await;
    let mut action = order(&service);
    let Some(Call::Http(call)) = action.call.as_deref_mut() else { panic!("{action:?}") };
    call.secrets[0].variable = "NOWHERE".to_owned();
    let stage = build(action).await;
    let fault = stage.wait_for_question().await.fault.unwrap();
    assert_eq!(fault.code(), Code::AuthMissing);
    assert!(fault.message.contains("NOWHERE"));
    assert_eq!(service.seen_requests("POST").len(), 0);
}

fn pull_request(service: &HttpService) -> MutationSpec {
    let wanted = PullRequest {
        repository: "ada/shop".to_owned(),
        base: "main".to_owned(),
        title: "A page".to_owned(),
        body: "What it does.".to_owned(),
        base_url: Some(service.url("/api")),
        token_variable: "TOKEN".to_owned(),
        ..PullRequest::default()
    };
    MutationSpec::from_call("pull request", Call::PullRequest(wanted))
}

const PULLS: &str = r#"[{"html_url": "https://git.example/ada/shop/pull/7", "more": 1}]"#;
const PULL: &str = r#"{"html_url": "https://git.example/ada/shop/pull/7"}"#;

#[tokio::test]
async fn a_pull_request_is_opened_once_whatever_the_service_says() {
    type Rule = fn(&SeenRequest, &[SeenRequest]) -> ServiceReply;
    let created = |seen: &SeenRequest, _: &[SeenRequest]| match seen.method.as_str() {
        "POST" => ServiceReply::Answer(201, PULL),
        _ => ServiceReply::Answer(500, ""),
    };
    let lost = |seen: &SeenRequest, _: &[SeenRequest]| match seen.method.as_str() {
        "POST" => ServiceReply::Cut,
        _ => ServiceReply::Answer(200, PULLS),
    };
    let there = |seen: &SeenRequest, _: &[SeenRequest]| match seen.method.as_str() {
        "POST" => ServiceReply::Answer(422, r#"{"message": "Validation Failed"}"#),
        _ => ServiceReply::Answer(200, PULLS),
    };
    let rules: [(Rule, usize); 3] = [(created, 0), (lost, 1), (there, 1)];
    for (rule, looked_up) in rules {
        let service = HttpService::start(rule).await;
        let stage = build(pull_request(&service)).await;
        stage.done().await;
        let (sent, asked) = (service.seen_requests("POST"), service.seen_requests("GET"));
        assert_eq!((sent.len(), asked.len()), (1, looked_up));
        assert_eq!(sent[0].path, "/api/repos/ada/shop/pulls");
        assert_eq!(sent[0].headers["authorization"], format!("Bearer {TOKEN}"));
        let body: serde_json::Value = serde_json::from_str(&sent[0].body).unwrap();
        assert_eq!((&body["head"], &body["base"]), (&"unstuck/b0".into(), &"main".into()));
        for asked in asked {
            let query = "?head=ada%3Aunstuck%2Fb0&base=main&state=all";
            assert_eq!(asked.path, format!("/api/repos/ada/shop/pulls{query}"));
        }
        assert_eq!(result(&stage).await, "https://git.example/ada/shop/pull/7");
    }
}

fn command(line: &str) -> MutationSpec {
    let call = CommandCall {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        variables: vec!["TOKEN".to_owned()],
        ..CommandCall::default()
    };
    MutationSpec::from_call("deploy", Call::Command(call))
}

#[tokio::test]
async fn a_command_acts_in_the_worktree_and_knows_its_key_and_its_secret() {
    let line = "test -n \"$TOKEN\" && test -z \"$CARGO\" && printf %s:%s $(cat a) ${#UNSTUCK_IDEMPOTENCY_KEY}";
    let stage = build(command(line)).await;
    stage.done().await;
    assert_eq!(result(&stage).await, "a:32");
}

// TX6: a command that died is looked up by the command that was kept with it.
#[tokio::test]
async fn a_command_that_died_is_looked_up_and_not_run_again() {
    let repo = TestRepo::with(&[]);
    let done = repo.beside("done");
    let line = format!("echo $UNSTUCK_IDEMPOTENCY_KEY >> {}; kill -9 $$", done.display());
    let probe = ProbeCommand {
        program: "cat".to_owned(),
        arguments: vec![done.to_string_lossy().into_owned()],
        ..ProbeCommand::default()
    };
    let action = command(&line).with_probe_command(probe);
    let job = Job::new("a", [&[write("a", "a\n")]]).then(action);
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    let keys = std::fs::read_to_string(done).unwrap();
    assert_eq!(keys.lines().count(), 1);
    assert_eq!(result(&stage).await, keys);
    assert_eq!(stage.fault_codes().await, [Code::ToolCrash]);
}

// Both streams of a command are what came back, with its status.
#[tokio::test]
async fn a_command_that_ends_with_a_status_is_asked_about_with_all_that_it_wrote() {
    for (line, came_back) in [
        ("echo 'the shelf is full'; exit 9", "sh ended with status 9: the shelf is full"),
        ("echo one; echo two >&2; exit 9", "sh ended with status 9: one\ntwo"),
        ("exit 9", "sh ended with status 9 and wrote nothing"),
        ("echo half; kill -9 $$", "sh was ended by signal 9\nhalf"),
    ] {
        let action = build(command(line)).await.wait_for_question().await.action.unwrap();
        assert_eq!(action.came_back.as_deref(), Some(came_back), "{line}");
    }
}

/// What performing and looking up come to at an address, for every connector that is a service.
async fn outcomes(url: &str) -> [EffectOutcome; 4] {
    let token = Credential::new(TOKEN).unwrap();
    let connector = Connector::new([("TOKEN".to_owned(), token)].into()).unwrap();
    let timeout_ms = Span::from_millis(500);
    let request = HttpCall {
        url: url.to_owned(),
        look_up_url: Some(url.to_owned()),
        timeout_ms,
        ..HttpCall::default()
    };
    let pull = PullRequest {
        repository: "ada/shop".to_owned(),
        base_url: Some(url.to_owned()),
        token_variable: "TOKEN".to_owned(),
        timeout_ms,
        ..PullRequest::default()
    };
    [
        connector.perform_request(&request, "key").await,
        connector.perform_pull_request(&pull, "head").await,
        connector.probe_request(&request).await,
        connector.probe_pull_request(&pull, "head").await,
    ]
}

// T3.9: nothing that a service does comes back unclassified, and no failure counts as done.
#[tokio::test]
async fn every_way_in_which_a_service_fails_is_classified() {
    let mut seen = Vec::new();
    for status in [301, 400, 401, 402, 403, 404, 408, 409, 410, 418, 422, 425, 429, 500, 503, 599] {
        let service = HttpService::start(move |_, _| ServiceReply::Answer(status, "<html>")).await;
        seen.push((status.to_string(), outcomes(&service.url("/x")).await));
    }
    let cut = HttpService::start(|_, _| ServiceReply::Cut).await;
    let silent = HttpService::start(|_, _| ServiceReply::Silence).await;
    let gone = HttpService::start(|_, _| ServiceReply::Cut).await.url("/x");
    for url in
        [cut.url("/x"), silent.url("/x"), gone, "no address".to_owned(), "ftp://x".to_owned()]
    {
        seen.push((url.clone(), outcomes(&url).await));
    }
    for (of, outcomes) in seen {
        for outcome in &outcomes {
            match outcome {
                EffectOutcome::Failed { fault, .. } | EffectOutcome::Unknown { fault } => {
                    assert_ne!(fault.category(), Category::Internal, "{of}: {fault:?}");
                    assert!(!fault.source.is_empty() && !fault.message.is_empty(), "{of}");
                }
                EffectOutcome::NotApplied | EffectOutcome::CannotTell { .. } => {}
                other => panic!("{of}: {other:?}"),
            }
        }
        let sent = &outcomes[..2];
        let faulted = |outcome: &EffectOutcome| {
            matches!(outcome, EffectOutcome::Failed { .. } | EffectOutcome::Unknown { .. })
        };
        assert!(sent.iter().all(faulted), "{of}: {sent:?}");
    }
}
