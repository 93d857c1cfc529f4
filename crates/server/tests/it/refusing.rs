//! A request that makes no sense is refused with a status that fits and a message that helps.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;

use super::served_projects::{Stage, asked};

#[tokio::test]
async fn no_request_is_let_in_without_a_token() {
    let stage = Stage::new().await;
    let bare = |path: &str, host: &str| {
        Request::builder().uri(path).header("host", host).body(Body::empty()).unwrap()
    };
    let here = "127.0.0.1:7424";
    for path in ["/api/v1/questions", "/api/v1/events", "/api/openapi.json"] {
        assert_eq!(stage.send(bare(path, here)).await.status, 401, "{path}");
        assert_eq!(stage.get("ust_nonsense", path).await.status, 401, "{path}");
    }
    for path in ["/", "/work", "/jobs", "/problems", "/q/shop/0"] {
        let sent = stage.send(bare(path, here)).await;
        assert_eq!(sent.status, 303, "{path}");
        assert!(sent.headers["location"].to_str().unwrap().starts_with("/login"), "{sent:?}");
    }
    for path in ["/healthz", "/readyz", "/login"] {
        assert_eq!(stage.send(bare(path, here)).await.status, 200, "{path}");
    }
    // Another name pointed at this machine is not us.
    assert_eq!(stage.send(bare("/login", "evil.example")).await.status, 421);
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_named() {
    let (stage, id, token) = Stage::with_question().await;
    let path = format!("/api/v1/questions/{id}/answer");
    let send = |body: &str| asked(Method::POST, &token, &path, Body::from(body.to_owned()));
    let cases = [
        ("{", 400),
        ("", 400),
        ("[]", 422),
        ("{}", 422),
        (r#"{"decision": 3}"#, 422),
        (r#"{"decision": "skip_feature", "extra": 1}"#, 422),
    ];
    for (body, status) in cases {
        let refused = stage.send(send(body)).await;
        assert_eq!(refused.status, status, "{body}: {refused:?}");
    }
    let huge = format!(r#"{{"decision": "{}"}}"#, "x".repeat(2 * 1_024 * 1_024));
    assert_eq!(stage.send(send(&huge)).await.status, 413);
    let long = json!({ "decision": "provide_credentials", "guidance": "x".repeat(10_001) });
    assert_eq!(stage.post(&token, &path, &long).await.status, 422);
    let mut plain = send("{}");
    plain.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(stage.send(plain).await.status, 415);
}

#[tokio::test]
async fn an_unknown_address_says_so() {
    let stage = Stage::new().await;
    let token = stage.operator();
    let api = stage.get(&token, "/api/v1/nonsense").await;
    assert_eq!(api.status, 404);
    assert_eq!(api.headers["content-type"], "application/problem+json");
    let page = stage.get(&token, "/nonsense").await;
    assert_eq!(page.status, 404);
    assert!(page.text().contains("There is nothing here"));
    let method = stage.send(asked(Method::DELETE, &token, "/api/v1/builds", Body::empty())).await;
    assert_eq!(method.status, 405);
}
