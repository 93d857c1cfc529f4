//! What is wrong with a request is said, with what to do about it.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use unstuck_server::{AccessRole, ProjectVisibility};

use super::super::desk::SECRET;
use super::super::served_projects::{Stage, asked};
use super::{Runtime, broken};

#[tokio::test]
async fn bad_input_is_named() {
    let runtime = Runtime::new().await;
    let table: [(&str, Value, u16, &str); 17] = [
        ("failures", json!({}), 422, "a failure has a `code`"),
        ("failures", json!({ "message": "  " }), 422, "a failure has a `code`"),
        ("failures", json!({ "code": "AUTH_EXPIRD" }), 422, "there is no code \"AUTH_EXPIRD\""),
        ("failures", json!({ "code": "INTERNAL_STORE" }), 422, "about Unstuck itself"),
        ("failures", json!({ "code": 7 }), 422, "code"),
        ("failures", json!({ "message": ["a"] }), 422, "message"),
        ("failures", json!({ "message": "x", "origin": "moon" }), 422, "moon"),
        ("failures", json!({ "massage": "x" }), 422, "massage"),
        ("failures", json!([1]), 422, ""),
        ("mutations", json!({ "arguments": 1 }), 422, "key"),
        ("mutations", json!({ "key": "a" }), 422, "`arguments`, or a `digest`"),
        ("mutations", json!({ "key": "a", "arguments": 1, "digest": "b" }), 422, "`arguments`, or"),
        ("mutations", json!({ "key": " ", "arguments": 1 }), 422, "`key` is a text"),
        ("mutations", json!({ "key": "a\nb", "arguments": 1 }), 422, "`key` is a text"),
        ("mutations", json!({ "key": "a", "arguments": 1, "kind": "git.push" }), 422, "git.push"),
        ("mutations", json!({ "key": "a", "arguments": 1, "scope": "all" }), 422, "all"),
        ("success", json!({ "sum": "x" }), 422, "sum"),
    ];
    for (what, body, status, says) in table {
        let refused = runtime.tell(what, Some("k"), &body).await;
        assert_eq!(refused.status, status, "{what} {body}: {}", refused.text());
        assert_eq!(refused.headers["content-type"], "application/problem+json");
        let problem = refused.json();
        assert!(problem["detail"].as_str().unwrap().contains(says), "{body}: {problem}");
    }
    // Nothing of it was charged.
    assert_eq!(runtime.session().await["direction"]["attempt"], 0);
    let near = runtime.tell("failures", Some("k"), &json!({ "code": "AUTH_EXPIRD" })).await.json();
    assert!(near["hint"].as_str().unwrap().contains("AUTH_EXPIRED"), "{near}");
}

#[tokio::test]
async fn a_failure_needs_a_key_that_is_one() {
    let runtime = Runtime::new().await;
    let without = runtime.tell("failures", None, &broken("total")).await;
    assert_eq!(without.status, 400, "{without:?}");
    assert!(without.json()["hint"].as_str().unwrap().contains("UUID"), "{without:?}");
    for key in ["", " ", &"k".repeat(201)] {
        let odd = runtime.tell("failures", Some(key), &broken("total")).await;
        assert_eq!(odd.status, 400, "{key:?}: {odd:?}");
    }
}

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let runtime = Runtime::new().await;
    let token = runtime.stage.operator();
    for (what, body, status) in [
        ("failures", "{", 400),
        ("failures", "", 400),
        ("success", "{", 400),
        ("mutations", "nul", 400),
    ] {
        let path = format!("{}/{what}", runtime.session);
        let mut request = asked(Method::POST, &token, &path, Body::from(body));
        request.headers_mut().insert("idempotency-key", "k".parse().unwrap());
        let refused = runtime.stage.send(request).await;
        assert_eq!(refused.status, status, "{what} {body}: {}", refused.text());
    }
    // Success needs no words.
    let path = format!("{}/success", runtime.session);
    let mut bare = asked(Method::POST, &token, &path, Body::empty());
    bare.headers_mut().remove("content-type");
    assert_eq!(runtime.stage.send(bare).await.status, 200);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let runtime = Runtime::new().await;
    runtime.stage.project().build(&["A build is no session"]).await;
    let token = runtime.stage.operator();
    for session in ["b99", "b1", "x", "-1", "99999999999999999999"] {
        let path = format!("/api/v1/sessions/{session}");
        assert_eq!(runtime.stage.get(&token, &path).await.status, 404, "{session}");
        let told = runtime.send(&format!("{path}/failures"), Some("k"), &broken("a")).await;
        assert_eq!(told.status, 404, "{session}");
        assert_eq!(runtime.send(&format!("{path}/success"), None, &json!({})).await.status, 404);
    }
    let never = runtime.came_of("never", &json!({ "outcome": "applied" })).await;
    assert_eq!(never.status, 404, "{never:?}");
    assert!(never.json()["hint"].as_str().unwrap().contains("mutations"), "{never:?}");
}

#[tokio::test]
async fn a_session_needs_a_goal() {
    let runtime = Runtime::new().await;
    for body in [
        json!({}),
        json!({ "goal": " " }),
        json!({ "goal": "g".repeat(10_001) }),
        json!({ "goal": "g", "title": "t".repeat(121) }),
        json!({ "goal": "g", "tittle": "t" }),
    ] {
        let refused = runtime.send("/api/v1/sessions", None, &body).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
    }
}

#[tokio::test]
async fn a_session_is_opened_once_and_says_where_it_is() {
    let runtime = Runtime::new().await;
    let body = json!({ "goal": "Bring the orders over\nand count them", "project": "shop" });
    let first = runtime.send("/api/v1/sessions", Some("open-1"), &body).await;
    assert_eq!(first.status, 201, "{first:?}");
    let place = first.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(place, "/api/v1/sessions/b1?project=shop");
    let again = runtime.send("/api/v1/sessions", Some("open-1"), &body).await;
    assert_eq!((again.status.as_u16(), again.json()), (201, first.json()));
    let record = runtime.stage.get(&runtime.stage.operator(), &place).await.json();
    assert_eq!(record, first.json());
    assert_eq!(record["title"], "Bring the orders over");
    assert_eq!(
        (&record["state"], &record["direction"]["decision"]),
        (&json!("running"), &json!("retry"))
    );
    let other = json!({ "goal": "Something else" });
    let reused = runtime.send("/api/v1/sessions", Some("open-1"), &other).await;
    assert_eq!(reused.status, 422, "{reused:?}");
    let builds = runtime.stage.get(&runtime.stage.operator(), "/api/v1/builds").await.json();
    assert_eq!(builds["items"].as_array().unwrap().len(), 2, "{builds}");
    assert_eq!(builds["items"][0]["session"], "Bring the orders over");
}

// B9, TX16: a secret in what is told goes nowhere
#[tokio::test]
async fn no_secret_is_kept() {
    let mut runtime = Runtime::new().await;
    runtime.open(&format!("Log in with {SECRET}")).await;
    let told = runtime
        .fails(&json!({
            "type": format!("Error{SECRET}"), "message": format!("login {SECRET} failed"),
            "source": SECRET, "approach": format!("sent {SECRET}"), "goal": SECRET,
        }))
        .await;
    assert!(!told.to_string().contains(SECRET), "{told}");
    let page = unstuck_store::EventPage { after: 0, limit: 1_000 };
    let events = runtime.stage.project().store.load_events("shop", page).await.unwrap();
    assert!(!serde_json::to_string(&events).unwrap().contains(SECRET));
}

#[tokio::test]
async fn sessions_are_for_operators_and_looked_at_by_viewers() {
    let stage = Stage::of(&["bank", "shop"]).await;
    let only = ProjectVisibility::Only(["shop".into()].into());
    let olga = stage.token("olga", AccessRole::Operator, only.clone());
    let vera = stage.token("vera", AccessRole::Viewer, only);
    let body = json!({ "goal": "Bring the orders over" });
    assert_eq!(stage.post(&vera, "/api/v1/sessions", &body).await.status, 403);
    let opened = stage.post(&olga, "/api/v1/sessions", &body).await;
    assert_eq!(opened.status, 201, "{opened:?}");
    let elsewhere = json!({ "goal": "Look around", "project": "bank" });
    assert_eq!(stage.post(&olga, "/api/v1/sessions", &elsewhere).await.status, 404);
    let place = opened.headers["location"].to_str().unwrap();
    assert_eq!(stage.get(&vera, place).await.status, 200);
    let foreign = place.replace("shop", "bank");
    assert_eq!(stage.get(&vera, &foreign).await.status, 404);
}
