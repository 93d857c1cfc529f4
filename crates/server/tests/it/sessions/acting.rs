//! Irreversible actions of a session.

use serde_json::{Value, json};

use super::Runtime;

// TX6, TX8: the intent is told first, the same key is never performed twice, its result is kept
#[tokio::test]
async fn an_action_is_performed_once_and_its_result_is_kept() {
    let mut runtime = Runtime::new().await;
    let arguments = json!({ "order": 1042, "cents": 500 });
    let permit = runtime.wants("refund-1042", &arguments).await.json();
    assert_eq!(permit["decision"], "proceed", "{permit}");
    let ours = permit["idempotency_key"].clone();
    assert!(ours.as_str().unwrap().len() >= 16, "{permit}");
    // Asked again before anything was told, it may not be sent.
    let again = runtime.wants("refund-1042", &arguments).await.json();
    assert_eq!((&again["decision"], &again["idempotency_key"]), (&json!("unsettled"), &ours));
    // Nothing ends before it is settled.
    for (what, key) in [("success", None), ("failures", Some("k"))] {
        let body = if what == "success" { json!({}) } else { json!({ "code": "LOGIC_ERROR" }) };
        let early = runtime.tell(what, key, &body).await;
        assert_eq!(early.status, 409, "{early:?}");
        assert!(early.json()["hint"].as_str().unwrap().contains("PATCH"), "{early:?}");
    }
    let applied = json!({ "outcome": "applied", "result": "{\"refund\": 7}" });
    let told = runtime.came_of("refund-1042", &applied).await;
    assert_eq!((told.status.as_u16(), &told.json()["status"]), (200, &json!("applied")));
    assert_eq!(told.json()["decision"], "retry");
    // Told once more it is the same; told otherwise it is refused.
    assert_eq!(runtime.came_of("refund-1042", &applied).await.status, 200);
    let otherwise = runtime.came_of("refund-1042", &json!({ "outcome": "failed" })).await;
    assert_eq!(otherwise.status, 409, "{otherwise:?}");
    // Another attempt finds what came back.
    runtime.fails(&json!({ "code": "LOGIC_ERROR", "message": "then it broke" })).await;
    let permit = runtime.wants("refund-1042", &arguments).await.json();
    assert_eq!(permit["decision"], "applied", "{permit}");
    assert_eq!(permit["result"], "{\"refund\": 7}");
    let other = runtime.wants("refund-1042", &json!({ "order": 1042, "cents": 900 })).await;
    assert_eq!(other.status, 409, "{other:?}");
    assert!(other.json()["detail"].as_str().unwrap().contains("other arguments"), "{other:?}");
    let listed = runtime.session().await["mutations"].clone();
    assert_eq!(listed, json!([{ "key": "refund-1042", "kind": "http", "status": "applied" }]));
}

// Arguments are the same in any order
#[tokio::test]
async fn arguments_are_recognised_in_any_order() {
    let runtime = Runtime::new().await;
    let body = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    runtime.wants("a", &body(r#"{"b": 1, "a": [2, {"d": 3, "c": 4}]}"#)).await;
    runtime.came_of("a", &json!({ "outcome": "applied" })).await;
    let again = runtime.wants("a", &body(r#"{"a": [2, {"c": 4, "d": 3}], "b": 1}"#)).await.json();
    assert_eq!(again["decision"], "applied", "{again}");
}

// One that failed may be sent again, under the same key for the other side
#[tokio::test]
async fn one_that_failed_may_be_sent_again() {
    let runtime = Runtime::new().await;
    let first = runtime.wants("a", &json!(1)).await.json();
    let told = runtime.came_of("a", &json!({ "outcome": "failed", "message": "503" })).await;
    assert_eq!(told.json()["status"], "not_applied", "{told:?}");
    let second = runtime.wants("a", &json!(1)).await.json();
    assert_eq!(second["decision"], "proceed", "{second}");
    assert_eq!(first["idempotency_key"], second["idempotency_key"]);
}

// T3.12: the runtime cannot tell, so a person says whether it happened
#[tokio::test]
async fn a_person_says_whether_it_happened() {
    for (decision, leads_to) in
        [("it_happened", "applied"), ("it_did_not", "proceed"), ("skip", "skipped")]
    {
        let runtime = Runtime::new().await;
        runtime.wants("a", &json!(1)).await;
        let told = runtime.came_of("a", &json!({ "outcome": "unknown" })).await.json();
        assert_eq!((&told["status"], &told["decision"]), (&json!("indeterminate"), &json!("ask")));
        assert_eq!(told["question"]["kind"], "happened", "{told}");
        assert_eq!(runtime.wants("a", &json!(1)).await.json()["decision"], "ask");
        runtime.answer(&told["question"], decision, None).await;
        assert_eq!(runtime.session().await["direction"]["decision"], "retry");
        assert_eq!(runtime.wants("a", &json!(1)).await.json()["decision"], leads_to);
    }
}

// A key of the project holds for every session of it
#[tokio::test]
async fn a_key_of_the_project_holds_for_every_session() {
    let mut runtime = Runtime::new().await;
    let body = json!({ "key": "release-7", "digest": "abc", "scope": "project" });
    let permit = runtime.tell("mutations", None, &body).await.json();
    assert_eq!(permit["decision"], "proceed", "{permit}");
    let first = runtime.session.clone();
    runtime.open("The same, somewhere else").await;
    let waits = runtime.tell("mutations", None, &body).await.json();
    assert_eq!(waits["decision"], "wait", "{waits}");
    let foreign = runtime.came_of("release-7", &json!({ "outcome": "applied" })).await;
    assert_eq!(foreign.status, 409, "{foreign:?}");
    let second = std::mem::replace(&mut runtime.session, first);
    runtime.came_of("release-7", &json!({ "outcome": "applied", "result": "v7" })).await;
    runtime.session = second;
    let known = runtime.tell("mutations", None, &body).await.json();
    assert_eq!((&known["decision"], &known["result"]), (&json!("applied"), &json!("v7")));
}

// A result may be 1 MB, and not more
#[tokio::test]
async fn a_result_may_be_long_but_not_endless() {
    let runtime = Runtime::new().await;
    runtime.wants("a", &json!(1)).await;
    let long = "\n".repeat(1024 * 1024);
    let endless = json!({ "outcome": "applied", "result": format!("{long}x") });
    let refused = runtime.came_of("a", &endless).await;
    assert_eq!(refused.status, 413, "{}", refused.text());
    let told = runtime.came_of("a", &json!({ "outcome": "applied", "result": long })).await;
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(runtime.wants("a", &json!(1)).await.json()["result"], long);
}
