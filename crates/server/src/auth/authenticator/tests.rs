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
    let house = TestServer::new();
    let (_, token) = house.make(AccessRole::Viewer);
    for (token, who) in [(&house.token, "ada operator||"), (&token, "bob viewer||")] {
        for path in ["/api/it", "/it", "/health"] {
            let answer = house.get(path, &[("authorization", &bearer_of(token))]).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, who), "{path}");
        }
        // A request with a token needs no form to change state.
        let answer = house.post("/api/it", &[("authorization", &bearer_of(token))], "a=b").await;
        assert_eq!((answer.status, answer.text), (200, format!("{who}a=b")));
    }
}

#[tokio::test]
async fn who_shows_nothing_is_told_or_sent_to_log_in() {
    let house = TestServer::new();
    let answer = house.get("/api/it", &[]).await;
    assert_eq!((answer.status, answer.header(WWW_AUTHENTICATE)), (401, "Bearer realm=\"unstuck\""));
    assert_eq!(answer.header(CONTENT_TYPE), "application/problem+json");
    assert!(answer.text.contains("this takes a token"), "{}", answer.text);

    let answer = house.get("/it?a=1&b=2", &[]).await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login?next=/it%3Fa%3D1%26b%3D2"));
    let answer = house.post("/it", &[], "a=b").await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login"));

    let answer = house.get("/health", &[]).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "public||"));
}

#[tokio::test]
async fn what_has_no_route_of_its_own_is_not_shown() {
    let house = TestServer::new();
    assert_eq!(house.get("/nothing", &[]).await.status, 404);
    assert_eq!(house.send(request(Method::DELETE, "/api/it", &[], "")).await.status, 401);
}

#[tokio::test]
async fn a_token_that_is_worth_nothing_is_a_failure_everywhere_but_where_all_may_look() {
    let house = TestServer::new();
    let (id, taken_back) = house.make(AccessRole::Operator);
    house.door.tokens.revoke_token(id).unwrap();
    let wrong = ["Bearer", "Bearer ", "bearer x", &bearer_of(&taken_back)];
    for shown in wrong {
        for path in ["/api/it", "/it"] {
            let answer = house.get(path, &[("authorization", shown)]).await;
            assert_eq!(answer.status, 401, "{path} {shown}");
            assert_ne!(answer.header(WWW_AUTHENTICATE), "");
        }
    }
    let answer = house.get("/health", &[("authorization", "Bearer x")]).await;
    assert_eq!(answer.text, "public||");
    // A proxy in front may have a login of its own.
    let cookie = house.session().await;
    let headers = [("authorization", "Basic YTpi"), ("cookie", &cookie)];
    assert_eq!(house.get("/it", &headers).await.status, 200);
    // The credential counts, not the headers that the browser adds.
    let headers = [("authorization", "Bearer x"), ("cookie", &cookie)];
    assert_eq!(house.get("/it", &headers).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn after_ten_failures_one_is_told_to_wait_but_a_good_token_is_let_in() {
    let house = TestServer::new();
    let wrong = [("authorization", "Bearer x")];
    for _ in 0..10 {
        assert_eq!(house.get("/api/it", &wrong).await.status, 401);
    }
    let answer = house.get("/api/it", &wrong).await;
    assert_eq!((answer.status, answer.header(RETRY_AFTER)), (429, "60"));
    assert_eq!(house.post("/login", &[], "token=x").await.status, 429);
    assert_eq!(house.get("/enter/x", &[]).await.status, 429);
    let good = bearer_of(&house.token);
    assert_eq!(house.get("/api/it", &[("authorization", &good)]).await.status, 200);
    assert_eq!(house.get("/api/it", &[]).await.status, 401);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(house.get("/api/it", &wrong).await.status, 401);
}

#[tokio::test]
async fn a_session_is_let_in_and_changes_something_only_by_its_own_forms() {
    let house = TestServer::new();
    let cookie = house.session().await;
    let with = |more: &[(&'static str, &'static str)]| {
        let mut headers = vec![("cookie", cookie.as_str())];
        headers.extend(more);
        headers
    };
    let page = house.get("/it", &with(&[])).await;
    let (who, csrf) = page.text.trim_end_matches('|').split_once('|').unwrap();
    assert_eq!((page.status, who, csrf.len()), (200, "ada operator", 64));

    let form = format!("a=b&csrf={csrf}");
    for path in ["/it", "/api/it"] {
        let answer = house.post(path, &with(&[]), &form).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        // The handler gets the form as it was sent.
        assert!(answer.text.ends_with(&format!("|{form}")), "{}", answer.text);
        for wrong in ["", "a=b", "csrf=", "csrf=00", &format!("csrf={}", "0".repeat(64))] {
            let answer = house.post(path, &with(&[]), wrong).await;
            assert_eq!(answer.status, 403, "{wrong}");
            assert!(answer.text.contains("load the page again"), "{}", answer.text);
        }
    }
    let json = |csrf: Option<&str>| {
        let mut headers = vec![("cookie", cookie.as_str()), ("content-type", "application/json")];
        headers.extend(csrf.map(|csrf| ("x-csrf", csrf)));
        request(Method::POST, "/api/it", &headers, "{}")
    };
    assert_eq!(house.send(json(Some(csrf))).await.status, 200);
    assert_eq!(house.send(json(Some("x"))).await.status, 403);
    assert_eq!(house.send(json(None)).await.status, 403);
}

#[tokio::test]
async fn a_person_who_is_refused_reads_a_page_and_a_program_a_problem() {
    let house = TestServer::new();
    let cookie = house.session().await;
    let html = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    for (path, accept, kind) in [
        ("/it", html, "text/html"),
        ("/it", ("accept", "*/*"), "application/problem+json"),
        ("/api/it", html, "application/problem+json"),
    ] {
        let answer = house.post(path, &[("cookie", &cookie), accept], "").await;
        assert_eq!(answer.status, 403);
        assert!(answer.header(CONTENT_TYPE).starts_with(kind), "{path} {accept:?} {answer:?}");
        assert!(answer.text.contains("load the page again"), "{}", answer.text);
    }
    let answer = house.get("/login", &[html, ("host", "evil.example")]).await;
    assert_eq!(answer.status, 421);
    assert!(answer.header(CONTENT_TYPE).starts_with("text/html"), "{answer:?}");
}

#[tokio::test]
async fn a_form_without_end_is_refused() {
    let house = TestServer::new();
    let cookie = house.session().await;
    let large = "x".repeat(FORM_BYTES_MAX + 1);
    assert_eq!(house.post("/it", &[("cookie", &cookie)], &large).await.status, 413);
}

#[tokio::test]
async fn other_names_and_other_sites_are_refused_before_anything_is_looked_at() {
    let house = TestServer::new();
    let good = bearer_of(&house.token);
    for path in ["/api/it", "/it", "/health", "/login"] {
        let headers = [("host", "evil.example"), ("authorization", good.as_str())];
        assert_eq!(house.get(path, &headers).await.status, 421, "{path}");
        let headers = [("origin", "https://evil.example"), ("authorization", good.as_str())];
        assert_eq!(house.post(path, &headers, "").await.status, 403, "{path}");
        let headers = [("sec-fetch-site", "cross-site"), ("authorization", good.as_str())];
        assert_eq!(house.post(path, &headers, "").await.status, 403, "{path}");
    }
    // Reading is no change; without CORS headers the other site cannot read the response.
    let headers = [("origin", "https://evil.example"), ("authorization", good.as_str())];
    let answer = house.get("/api/it", &headers).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
}

#[tokio::test]
async fn a_session_is_over_with_its_time_and_with_its_token() {
    let house = TestServer::new();
    let first = house.session().await;
    house.later(Span::from_hours(12));
    assert_eq!(house.get("/it", &[("cookie", &first)]).await.status, 303);

    let second = house.session().await;
    let id = house.door.tokens.local_token_id(house.clock.now()).unwrap().unwrap();
    house.door.tokens.rotate_token(id, house.clock.now()).unwrap();
    assert_eq!(house.get("/it", &[("cookie", &second)]).await.status, 303);
    assert_eq!(house.get("/api/it", &[("cookie", &second)]).await.status, 401);
}

#[tokio::test]
async fn a_session_that_is_used_is_renewed_when_half_is_over() {
    let house = TestServer::new();
    let cookie = house.session().await;
    let before = house.get("/it", &[("cookie", &cookie)]).await;
    assert_eq!(before.cookie(), None);
    house.later(Span::from_hours(6));
    let answer = house.get("/it", &[("cookie", &cookie)]).await;
    let renewed = answer.cookie().unwrap();
    assert_eq!(answer.text, before.text);
    house.later(Span::from_hours(11));
    let later = house.get("/it", &[("cookie", &renewed)]).await;
    assert_eq!((later.status, &later.text), (200, &before.text));
    assert_eq!(house.get("/it", &[("cookie", &cookie)]).await.status, 303);
}

#[tokio::test]
async fn while_the_file_of_tokens_cannot_be_read_no_caller_is_let_in() {
    let house = TestServer::new();
    let good = bearer_of(&house.token);
    let cookie = house.session().await;
    let file = house.folder.path().join("server").join("tokens.json");
    std::fs::write(&file, "{").unwrap();
    for headers in [("authorization", &good), (COOKIE.as_str(), &cookie)] {
        let answer = house.get("/api/it", &[(headers.0, headers.1)]).await;
        assert_eq!(answer.status, 503, "{headers:?}");
        assert!(!answer.text.contains("tokens.json"), "{}", answer.text);
    }
    assert_eq!(house.get("/health", &[("authorization", &good)]).await.status, 200);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}

#[tokio::test]
async fn a_cookie_of_another_server_is_no_failure() {
    let house = TestServer::new();
    let other = TestServer::new();
    let own = house.session().await;
    let foreign = other.session().await;
    for _ in 0..20 {
        assert_eq!(house.get("/it", &[("cookie", &foreign)]).await.status, 303);
    }
    let both = format!("{foreign}; {own}");
    assert_eq!(house.get("/it", &[("cookie", &both)]).await.status, 200);
}
