//! Commands of operators: builds and tasks.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use unstuck_core::fault::{Auth, Fault, Tool};
use unstuck_server::{AccessRole, ProjectVisibility};

use super::served_projects::{Stage, asked};

#[tokio::test]
async fn a_build_is_held_and_goes_on() {
    let stage = Stage::new().await;
    stage.project().build(&["One", "Two"]).await;
    let token = stage.operator();
    let build = stage.get(&token, "/api/v1/builds/b0").await.json();
    assert_eq!((&build["state"], &build["project"]), (&json!("running"), &json!("shop")));
    let paused = stage.post(&token, "/api/v1/builds/b0/pause", &json!({})).await;
    assert_eq!(paused.json()[0]["type"], "agent.build_paused", "{paused:?}");
    // Who wanted it stands beside what came of it, in the journal itself.
    let events = paused.json();
    let ordered = events.as_array().unwrap().last().unwrap();
    assert_eq!(ordered["type"], "control.ordered", "{paused:?}");
    assert_eq!(
        (&ordered["data"]["by"], &ordered["data"]["wish"]),
        (&json!("olga"), &json!("pause"))
    );
    let again = stage.post(&token, "/api/v1/builds/b0/pause", &json!({})).await;
    assert_eq!(again.status, 409, "{again:?}");
    let resumed = stage.post(&token, "/api/v1/builds/0/resume", &json!({})).await;
    assert_eq!(resumed.status, 200, "{resumed:?}");
    let build = stage.get(&token, "/api/v1/builds/b0").await.json();
    assert_eq!(build["state"], "running");
}

#[tokio::test]
async fn a_task_is_left_out_and_done_after_all() {
    let stage = Stage::new().await;
    stage.project().build(&["One", "Two"]).await;
    let token = stage.operator();
    let skipped = stage.post(&token, "/api/v1/builds/b0/tasks/t1/skip", &json!({})).await;
    assert_eq!(skipped.status, 200, "{skipped:?}");
    let tasks = stage.get(&token, "/api/v1/builds/b0/tasks").await.json();
    assert_eq!(tasks["items"][1]["state"], "skipped");
    let retried = stage.post(&token, "/api/v1/builds/b0/tasks/t1/retry", &json!({})).await;
    assert_eq!(retried.status, 200, "{retried:?}");
    let elsewhere = stage.post(&token, "/api/v1/builds/b7/tasks/t1/skip", &json!({})).await;
    assert_eq!(elsewhere.status, 404);
}

#[tokio::test]
async fn waits_end_early_and_none_is_fine_too() {
    let stage = Stage::new().await;
    stage.project().build(&["One"]).await;
    let token = stage.operator();
    let nothing = stage.post(&token, "/api/v1/builds/b0/kick", &json!({})).await;
    assert_eq!(nothing.json(), json!([]));
    stage.project().fails(Fault::env_connection("npm", "ECONNRESET", Tool::default())).await;
    let tasks = stage.get(&token, "/api/v1/builds/b0/tasks").await.json();
    assert_eq!(tasks["items"][0]["state"], "backing_off");
    let kicked = stage.post(&token, "/api/v1/builds/b0/kick", &json!({})).await;
    assert_eq!(kicked.status, 200, "{kicked:?}");
    let tasks = stage.get(&token, "/api/v1/builds/b0/tasks").await.json();
    assert_eq!(tasks["items"][0]["state"], "running");
}

// Each role may do what those before it may, and nothing else; what is not theirs does not exist
#[tokio::test]
async fn roles_and_projects_keep_people_apart() {
    let stage = Stage::of(&["bank", "shop"]).await;
    for project in &stage.projects {
        project.build(&["One"]).await;
        project.fails(Fault::auth_invalid("deploy", "403 refused", Auth::default())).await;
    }
    let only = |name: &str| ProjectVisibility::Only([name.into()].into());
    let anna = stage.token("anna", AccessRole::Answerer, only("shop"));
    let vera = stage.token("vera", AccessRole::Viewer, only("shop"));
    let olga = stage.token("olga", AccessRole::Operator, only("shop"));
    let looks = ["/api/v1/builds/b0/tasks", "/api/v1/builds/b0/runs", "/api/v1/jobs"];
    for path in looks {
        assert_eq!(stage.get(&anna, path).await.status, 403, "{path}");
        assert_eq!(stage.get(&vera, path).await.status, 200, "{path}");
    }
    let pause = "/api/v1/builds/b0/pause";
    assert_eq!(stage.post(&anna, pause, &json!({})).await.status, 403);
    let refused = stage.post(&vera, pause, &json!({})).await;
    assert_eq!(refused.status, 403);
    assert!(refused.json()["detail"].as_str().unwrap().contains("operator"), "{refused:?}");
    for who in [&anna, &vera, &olga] {
        let listed = stage.get(who, "/api/v1/questions").await.json();
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed["items"][0]["project"], "shop");
        for path in ["/api/v1/questions/0?project=bank", "/api/v1/builds/b0?project=bank"] {
            assert_eq!(stage.get(who, path).await.status, 404, "{path}");
        }
        let events = stage.get(who, "/api/v1/projects/bank/events").await.status;
        assert!([403, 404].contains(&events.as_u16()), "{events}");
    }
    let all = stage.operator();
    let unsaid = stage.get(&all, "/api/v1/builds/b0").await;
    assert_eq!(unsaid.status, 422);
    assert_eq!(unsaid.json()["hint"], "add `?project=NAME`: bank, shop");
    assert_eq!(stage.get(&all, "/api/v1/builds/b0?project=bank").await.status, 200);
}

#[tokio::test]
async fn a_report_tells_what_every_role_may_read() {
    let stage = Stage::new().await;
    stage.project().build(&["Put it online"]).await;
    stage.project().asks().await;
    let anna = stage.token("anna", AccessRole::Answerer, ProjectVisibility::All);
    let report = stage.get(&anna, "/api/v1/builds/b0/report").await;
    assert_eq!(report.status, 200);
    let report = report.json();
    assert_eq!(report["counts"]["waiting"], 1, "{report}");
    assert!(report.get("healed").is_none());
}

#[tokio::test]
async fn a_build_is_started() {
    let stage = Stage::of(&["a shop"]).await;
    let token = stage.operator();
    let started = stage.post(&token, "/api/v1/builds", &json!({ "goal": "Sell tea" })).await;
    assert_eq!(started.status, 201, "{started:?}");
    let place = started.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(place, "/api/v1/builds/b0?project=a%20shop");
    let mut row = started.json();
    assert_eq!(row.as_object_mut().unwrap().remove("warnings"), Some(json!([])));
    assert_eq!(stage.get(&token, &place).await.json(), row);
    let tasks = stage.get(&token, "/api/v1/builds/b0/tasks").await.json();
    assert_eq!(tasks["items"][0]["spec"]["title"], "Sell tea");
    let files = json!({ "tasks": ["tasks/a.md", "tasks/b.md"] });
    let files = stage.post(&token, "/api/v1/builds", &files).await;
    assert_eq!(files.json()["id"], 1, "{files:?}");
    for (wrong, says) in [
        (json!({ "goal": "a", "tasks": ["b"] }), "there is a goal and there are tasks"),
        (json!({ "goals": "a" }), "unknown field `goals`"),
        (json!({ "tasks": "b" }), "invalid type"),
        (json!({}), "there is nothing to do"),
    ] {
        let refused = stage.post(&token, "/api/v1/builds", &wrong).await;
        assert_eq!(refused.status, 422, "{wrong}: {refused:?}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(says), "{refused:?}");
    }
}

#[tokio::test]
async fn problems_are_open_or_got_past() {
    let stage = Stage::new().await;
    stage.project().build(&["One", "Two"]).await;
    stage.project().asks_about("the disk is round").await;
    stage.project().fails(Fault::env_connection("npm", "ECONNRESET", Tool::default())).await;
    stage.project().build(&["Three"]).await;
    let token = stage.token("vera", AccessRole::Viewer, ProjectVisibility::All);
    let all = stage.get(&token, "/api/v1/problems").await.json();
    let seen: Vec<_> = all["items"].as_array().unwrap().iter().map(|met| &met["stands"]).collect();
    assert_eq!(seen.len(), 2, "{all}");
    let open = all["items"].as_array().unwrap().iter().find(|met| met["stands"] == "open");
    assert_eq!(open.unwrap()["code"], "INTERNAL_ERROR", "{all}");
    let first = stage.get(&token, "/api/v1/builds/b0/problems").await.json();
    assert_eq!(first["items"].as_array().unwrap().len(), 2, "{first}");
    let second = stage.get(&token, "/api/v1/builds/b1/problems").await.json();
    assert_eq!(second["items"], json!([]));
}

#[tokio::test]
async fn an_order_with_the_same_key_is_carried_out_once() {
    let stage = Stage::new().await;
    let token = stage.operator();
    let send = async |path: &str, body: Value| {
        let mut request = asked(Method::POST, &token, path, Body::from(body.to_string()));
        let headers = request.headers_mut();
        headers.insert("content-type", "application/json".parse().unwrap());
        headers.insert("idempotency-key", "7e2c".parse().unwrap());
        stage.send(request).await
    };
    let first = send("/api/v1/builds", json!({ "goal": "Sell tea" })).await;
    let again = send("/api/v1/builds", json!({ "goal": "Sell tea" })).await;
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(again.status, 201, "{again:?}");
    assert_eq!(first.json()["id"], again.json()["id"]);
    let other = send("/api/v1/builds", json!({ "goal": "Sell coffee" })).await;
    assert_eq!(other.status, 422, "{other:?}");
    let held = send("/api/v1/builds/b0/pause", json!({})).await;
    assert_eq!(held.status, 422, "a key is for one request: {held:?}");
    let builds = stage.get(&token, "/api/v1/builds").await.json();
    assert_eq!(builds["items"].as_array().unwrap().len(), 1);
}
