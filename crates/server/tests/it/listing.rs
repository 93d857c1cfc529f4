//! Lists: in parts, and not twice.

use axum::body::Body;
use axum::http::Method;

use super::served_projects::{Stage, asked};

#[tokio::test]
async fn a_long_list_comes_in_parts_without_a_gap() {
    let stage = Stage::of(&["bank", "shop"]).await;
    for project in &stage.projects {
        project.build(&["One", "Two", "Three"]).await;
        for what in ["the disk is round", "no such moon", "out of tea"] {
            project.asks_about(what).await;
        }
    }
    let token = stage.operator();
    let (mut seen, mut path) = (Vec::new(), "/api/v1/questions?limit=2".to_owned());
    loop {
        let part = stage.get(&token, &path).await.json();
        let items = part["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|row| (row["project"].to_string(), row["id"].to_string())));
        let Some(next) = part["next"].as_str() else { break };
        path = format!("/api/v1/questions?limit=2&after={}", next.replace('/', "%2F"));
    }
    let mut unique = seen.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((seen.len(), unique.len()), (6, 6), "{seen:?}");
}

#[tokio::test]
async fn every_list_comes_in_parts() {
    let stage = Stage::new().await;
    for _ in 0..2 {
        stage.project().build(&["One", "Two", "Three"]).await;
    }
    stage.project().asks().await;
    let token = stage.operator();
    for (list, count) in [("builds", 2), ("builds/b0/tasks", 3), ("builds/b0/runs", 3)] {
        let mut seen = Vec::new();
        let mut after = String::new();
        loop {
            let part = stage.get(&token, &format!("/api/v1/{list}?limit=1{after}")).await.json();
            let items = part["items"].as_array().unwrap();
            assert_eq!(items.len(), 1, "{list}: {part}");
            seen.push(items[0]["id"].as_u64().unwrap());
            let Some(next) = part["next"].as_str() else { break };
            after = format!("&after={}", next.replace('/', "%2F"));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count, "{list}: {seen:?}");
        let nowhere = stage.get(&token, &format!("/api/v1/{list}?after=nowhere")).await;
        assert_eq!(nowhere.status, 422, "{nowhere:?}");
    }
}

#[tokio::test]
async fn what_is_known_is_not_sent_again() {
    let stage = Stage::new().await;
    stage.project().build(&["One"]).await;
    let token = stage.operator();
    let first = stage.get(&token, "/api/v1/builds").await;
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let mut again = asked(Method::GET, &token, "/api/v1/builds", Body::empty());
    again.headers_mut().insert("if-none-match", tag.parse().unwrap());
    let again = stage.send(again).await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
    stage.project().asks().await;
    let mut changed = asked(Method::GET, &token, "/api/v1/builds", Body::empty());
    changed.headers_mut().insert("if-none-match", tag.parse().unwrap());
    assert_eq!(stage.send(changed).await.status, 200);
}

#[tokio::test]
async fn nonsense_in_a_question_mark_is_named() {
    let stage = Stage::new().await;
    let token = stage.operator();
    for path in [
        "/api/v1/questions?limit=0",
        "/api/v1/questions?limit=201",
        "/api/v1/questions?limit=many",
        "/api/v1/questions?status=open",
        "/api/v1/questions?stauts=pending",
        "/api/v1/questions?after=nonsense",
    ] {
        let refused = stage.get(&token, path).await;
        assert_eq!(refused.status, 422, "{path}: {refused:?}");
        assert_eq!(refused.headers["content-type"], "application/problem+json");
    }
    for path in ["/api/v1/questions/x", "/api/v1/builds/-1", "/api/v1/builds/99999999999"] {
        assert_eq!(stage.get(&token, path).await.status, 404, "{path}");
    }
}
