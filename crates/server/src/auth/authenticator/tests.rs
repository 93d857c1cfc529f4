use std::time::Duration;

use axum::http::Method;
use axum::http::header::{COOKIE, RETRY_AFTER};
use unstuck_core::time::Span;

use super::super::caller::AccessRole;
use super::super::request_context::FORM_BYTES_MAX;
use super::super::test_server::{TestServer, request};
use super::*;

fn bearer_of(token: &AccessToken) -> String {
    format!("Bearer {}", token.as_str())
}

#[tokio::test]
async fn a_program_is_let_in_by_its_token() {
    let server = TestServer::new();
    let (_, token) = server.make(AccessRole::Viewer);
    for (token, who) in [(&server.token, "ada operator||"), (&token, "bob viewer||")] {
        for path in ["/api/it", "/it", "/health"] {
            let answer = server.get(path, &[("authorization", &bearer_of(token))]).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, who), "{path}");
        }
        // A request with a token needs no form to change state.
        let answer = server.post("/api/it", &[("authorization", &bearer_of(token))], "a=b").await;
        assert_eq!((answer.status, answer.text), (200, format!("{who}a=b")));
    }
}

#[tokio::test]
async fn who_shows_nothing_is_told_or_sent_to_log_in() {
    let server = TestServer::new();
    let answer = server.get("/api/it", &[]).await;
    assert_eq!((answer.status, answer.header(WWW_AUTHENTICATE)), (401, "Bearer realm=\"unstuck\""));
    assert_eq!(answer.header(CONTENT_TYPE), "application/problem+json");
    assert!(answer.text.contains("this takes a token"), "{}", answer.text);

    let answer = server.get("/it?a=1&b=2", &[]).await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login?next=/it%3Fa%3D1%26b%3D2"));
    let answer = server.post("/it", &[], "a=b").await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login"));

    let answer = server.get("/health", &[]).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "public||"));
}

#[tokio::test]
async fn what_has_no_route_of_its_own_is_not_shown() {
    let server = TestServer::new();
    assert_eq!(server.get("/nothing", &[]).await.status, 404);
    assert_eq!(server.send(request(Method::DELETE, "/api/it", &[], "")).await.status, 401);
}

#[tokio::test]
async fn a_token_that_is_worth_nothing_is_a_failure_everywhere_but_where_all_may_look() {
    let server = TestServer::new();
    let (id, taken_back) = server.make(AccessRole::Operator);
    server.authenticator.tokens.revoke_token(id).unwrap();
    let wrong = ["Bearer", "Bearer ", "bearer x", &bearer_of(&taken_back)];
    for shown in wrong {
        for path in ["/api/it", "/it"] {
            let answer = server.get(path, &[("authorization", shown)]).await;
            assert_eq!(answer.status, 401, "{path} {shown}");
            assert_ne!(answer.header(WWW_AUTHENTICATE), "");
        }
    }
    let answer = server.get("/health", &[("authorization", "Bearer x")]).await;
    assert_eq!(answer.text, "public||");
    // A proxy in front may have a login of its own.
    let cookie = server.session().await;
    let headers = [("authorization", "Basic YTpi"), ("cookie", &cookie)];
    assert_eq!(server.get("/it", &headers).await.status, 200);
    // The credential counts, not the headers that the browser adds.
    let headers = [("authorization", "Bearer x"), ("cookie", &cookie)];
    assert_eq!(server.get("/it", &headers).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn after_ten_failures_one_is_told_to_wait_but_a_good_token_is_let_in() {
    let server = TestServer::new();
    let wrong = [("authorization", "Bearer x")];
    for _ in 0..10 {
        assert_eq!(server.get("/api/it", &wrong).await.status, 401);
    }
    let answer = server.get("/api/it", &wrong).await;
    assert_eq!((answer.status, answer.header(RETRY_AFTER)), (429, "60"));
    assert_eq!(server.post("/login", &[], "token=x").await.status, 429);
    assert_eq!(server.get("/enter/x", &[]).await.status, 429);
    let good = bearer_of(&server.token);
    assert_eq!(server.get("/api/it", &[("authorization", &good)]).await.status, 200);
    assert_eq!(server.get("/api/it", &[]).await.status, 401);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(server.get("/api/it", &wrong).await.status, 401);
}

#[tokio::test]
async fn a_session_is_let_in_and_changes_something_only_by_its_own_forms() {
    let server = TestServer::new();
    let cookie = server.session().await;
    let with = |more: &[(&'static str, &'static str)]| {
        let mut headers = vec![("cookie", cookie.as_str())];
        headers.extend(more);
        headers
    };
    let page = server.get("/it", &with(&[])).await;
    let (who, csrf) = page.text.trim_end_matches('|').split_once('|').unwrap();
    assert_eq!((page.status, who, csrf.len()), (200, "ada operator", 64));

    let form = format!("a=b&csrf={csrf}");
    for path in ["/it", "/api/it"] {
        let answer = server.post(path, &with(&[]), &form).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        // The handler gets the form as it was sent.
        assert!(answer.text.ends_with(&format!("|{form}")), "{}", answer.text);
        for wrong in ["", "a=b", "csrf=", "csrf=00", &format!("csrf={}", "0".repeat(64))] {
            let answer = server.post(path, &with(&[]), wrong).await;
            assert_eq!(answer.status, 403, "{wrong}");
            assert!(answer.text.contains("load the page again"), "{}", answer.text);
        }
    }
    let json = |csrf: Option<&str>| {
        let mut headers = vec![("cookie", cookie.as_str()), ("content-type", "application/json")];
        headers.extend(csrf.map(|csrf| ("x-csrf", csrf)));
        request(Method::POST, "/api/it", &headers, "{}")
    };
    assert_eq!(server.send(json(Some(csrf))).await.status, 200);
    assert_eq!(server.send(json(Some("x"))).await.status, 403);
    assert_eq!(server.send(json(None)).await.status, 403);
}

#[tokio::test]
async fn a_person_who_is_refused_reads_a_page_and_a_program_a_problem() {
    let server = TestServer::new();
    let cookie = server.session().await;
    let html = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    for (path, accept, kind) in [
        ("/it", html, "text/html"),
        ("/it", ("accept", "*/*"), "application/problem+json"),
        ("/api/it", html, "application/problem+json"),
    ] {
        let answer = server.post(path, &[("cookie", &cookie), accept], "").await;
        assert_eq!(answer.status, 403);
        assert!(answer.header(CONTENT_TYPE).starts_with(kind), "{path} {accept:?} {answer:?}");
        assert!(answer.text.contains("load the page again"), "{}", answer.text);
    }
    let answer = server.get("/login", &[html, ("host", "evil.example")]).await;
    assert_eq!(answer.status, 421);
    assert!(answer.header(CONTENT_TYPE).starts_with("text/html"), "{answer:?}");
}

#[tokio::test]
async fn a_form_without_end_is_refused() {
    let server = TestServer::new();
    let cookie = server.session().await;
    let large = "x".repeat(FORM_BYTES_MAX + 1);
    assert_eq!(server.post("/it", &[("cookie", &cookie)], &large).await.status, 413);
}

#[tokio::test]
async fn other_names_and_other_sites_are_refused_before_anything_is_looked_at() {
    let server = TestServer::new();
    let good = bearer_of(&server.token);
    for path in ["/api/it", "/it", "/health", "/login"] {
        let headers = [("host", "evil.example"), ("authorization", good.as_str())];
        assert_eq!(server.get(path, &headers).await.status, 421, "{path}");
        let headers = [("origin", "https://evil.example"), ("authorization", good.as_str())];
        assert_eq!(server.post(path, &headers, "").await.status, 403, "{path}");
        let headers = [("sec-fetch-site", "cross-site"), ("authorization", good.as_str())];
        assert_eq!(server.post(path, &headers, "").await.status, 403, "{path}");
    }
    // Reading is no change; without CORS headers the other site cannot read the response.
    let headers = [("origin", "https://evil.example"), ("authorization", good.as_str())];
    let answer = server.get("/api/it", &headers).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
}

#[tokio::test]
async fn a_session_is_over_with_its_time_and_with_its_token() {
    let server = TestServer::new();
    let first = server.session().await;
    server.later(Span::from_hours(12));
    assert_eq!(server.get("/it", &[("cookie", &first)]).await.status, 303);

    let second = server.session().await;
    let id = server.authenticator.tokens.local_token_id(server.clock.now()).unwrap().unwrap();
    server.authenticator.tokens.rotate_token(id, server.clock.now()).unwrap();
    assert_eq!(server.get("/it", &[("cookie", &second)]).await.status, 303);
    assert_eq!(server.get("/api/it", &[("cookie", &second)]).await.status, 401);
}

#[tokio::test]
async fn a_session_that_is_used_is_renewed_when_half_is_over() {
    let server = TestServer::new();
    let cookie = server.session().await;
    let before = server.get("/it", &[("cookie", &cookie)]).await;
    assert_eq!(before.cookie(), None);
    server.later(Span::from_hours(6));
    let answer = server.get("/it", &[("cookie", &cookie)]).await;
    let renewed = answer.cookie().unwrap();
    assert_eq!(answer.text, before.text);
    server.later(Span::from_hours(11));
    let later = server.get("/it", &[("cookie", &renewed)]).await;
    assert_eq!((later.status, &later.text), (200, &before.text));
    assert_eq!(server.get("/it", &[("cookie", &cookie)]).await.status, 303);
}

#[tokio::test]
async fn while_the_file_of_tokens_cannot_be_read_no_caller_is_let_in() {
    let server = TestServer::new();
    let good = bearer_of(&server.token);
    let cookie = server.session().await;
    let file = server.folder.path().join("server").join("tokens.json");
    std::fs::write(&file, "{").unwrap();
    for headers in [("authorization", &good), (COOKIE.as_str(), &cookie)] {
        let answer = server.get("/api/it", &[(headers.0, headers.1)]).await;
        assert_eq!(answer.status, 503, "{headers:?}");
        assert!(!answer.text.contains("tokens.json"), "{}", answer.text);
    }
    assert_eq!(server.get("/health", &[("authorization", &good)]).await.status, 200);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}

#[tokio::test]
async fn a_cookie_of_another_server_is_no_failure() {
    let server = TestServer::new();
    let other = TestServer::new();
    let own = server.session().await;
    let foreign = other.session().await;
    for _ in 0..20 {
        assert_eq!(server.get("/it", &[("cookie", &foreign)]).await.status, 303);
    }
    let both = format!("{foreign}; {own}");
    assert_eq!(server.get("/it", &[("cookie", &both)]).await.status, 200);
}
