//! Random requests: no answer is a fault of ours, and nothing falls over.

use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, Uri};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::served_projects::Stage;

/// As many as there is time for in a run of all tests; the nightly run asks for more.
fn requests() -> usize {
    std::env::var_os("UNSTUCK_REQUESTS")
        .and_then(|value| value.into_string().ok())
        .and_then(|value| value.parse().ok())
        .unwrap_or(50_000)
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "api", "v1", "builds", "b0", "0", "tasks", "t0", "runs", "report", "events", "questions", "q0",
            "answer", "check", "jobs", "run", "pause", "resume", "cancel", "kick", "retry", "skip",
            "projects", "shop", "work", "problems", "login", "logout", "enter", "link", "assets", "openapi.json",
            "healthz", "readyz", "news", "metrics", "sessions", "failures", "success", "mutations",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9%._~-]{0,12}",
        1 => "-?[0-9]{1,24}",
    ]
}

fn address() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "/api/v1/questions", "/api/v1/questions/0", "/api/v1/questions/0/answer", "/api/v1/builds",
        "/api/v1/builds/b0", "/api/v1/builds/b0/tasks", "/api/v1/builds/b0/report", "/", "/work",
        "/work/shop/0", "/work/shop/0/tasks/0", "/q/shop/0", "/login", "/api/v1/jobs",
        "/api/v1/problems", "/api/v1/builds/b0/problems", "/api/v1/sessions", "/api/v1/sessions/0",
        "/api/v1/sessions/0/failures", "/metrics",
    ])
    .prop_map(str::to_owned);
    let made =
        prop::collection::vec(part(), 0..7).prop_map(|parts| format!("/{}", parts.join("/")));
    let query = prop::option::of(
        "(limit|after|status|project|wait|next)=[a-zA-Z0-9%/_.-]{0,16}(&[a-z]{1,8}=[0-9a-z]{0,8})?",
    );
    (prop_oneof![known, made], query).prop_map(|(path, query)| match query {
        // No request waits here.
        Some(query) if !query.starts_with("wait") => format!("{path}?{query}"),
        _ => path,
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(br#"{"decision":"skip_feature"}"#.to_vec()),
        Just(b"decision=skip_feature&guidance=x".to_vec()),
        prop::collection::vec(any::<u8>(), 0..64),
        "\\{\"[a-z]{1,8}\":(\"[^\"\\\\]{0,16}\"|[0-9]{1,8}|null|\\[\\])\\}"
            .prop_map(String::into_bytes),
    ]
}

#[tokio::test]
async fn no_request_is_answered_with_a_fault_of_ours() {
    let stage = Stage::new().await;
    stage.project().build(&["One", "Two"]).await;
    stage.project().asks().await;
    let token = stage.operator();
    let methods = prop::sample::select(vec![
        Method::GET,
        Method::GET,
        Method::POST,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
    ]);
    let kinds = prop::sample::select(vec![
        "application/json",
        "application/x-www-form-urlencoded",
        "text/plain",
        "",
    ]);
    let header = prop::option::of("[ -~]{0,40}");
    let strategy = (methods, address(), body(), kinds, header.clone(), header);
    let mut runner = TestRunner::deterministic();
    for _ in 0..requests() {
        let (method, address, body, kind, last, tag) =
            strategy.new_tree(&mut runner).unwrap().current();
        let Ok(uri) = address.parse::<Uri>() else { continue };
        let mut request = Request::builder()
            .method(method.clone())
            .uri(uri)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", kind)
            .body(Body::from(body.clone()))
            .unwrap();
        for (name, value) in [("last-event-id", last), ("if-none-match", tag)] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                request.headers_mut().insert(name, value);
            }
        }
        let response = stage.begin(request).await;
        let status = response.status().as_u16();
        assert!(status < 500, "{method} {address} {:?}: {status}", String::from_utf8_lossy(&body));
    }
}
