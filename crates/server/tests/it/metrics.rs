//! The numbers that a monitoring system reads.

use unstuck_core::fault::{Fault, Tool};
use unstuck_server::{AccessRole, ProjectVisibility};

use super::served_projects::Stage;

#[tokio::test]
async fn numbers_are_those_of_the_tables() {
    let stage = Stage::new().await;
    stage.project().build(&["One", "Two"]).await;
    stage.project().asks_about("secret-looking words").await;
    stage.project().fails(Fault::env_connection("npm", "ECONNRESET", Tool::default())).await;
    let token = stage.token("grafana", AccessRole::Viewer, ProjectVisibility::All);
    let shown = stage.get(&token, "/metrics").await;
    assert_eq!(shown.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = shown.text();
    for line in [
        "unstuck_questions_open{project=\"shop\"} 1",
        "unstuck_builds{project=\"shop\",state=\"running\"} 1",
        "unstuck_failures_total{project=\"shop\",code=\"INTERNAL_ERROR\"} 1",
        "unstuck_failures_total{project=\"shop\",code=\"ENV_CONNECTION\"} 1",
        "unstuck_http_responses_total{class=\"2xx\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    // Codes, never what was said or what recognises it.
    assert!(!text.contains("secret-looking") && !text.contains("signature"), "{text}");
    let again = stage.get(&token, "/metrics").await.text();
    assert!(again.contains("unstuck_http_responses_total{class=\"2xx\"} 1"), "{again}");
}

// Every sample belongs to a family that was announced, and no line comes twice.
#[tokio::test]
async fn the_format_is_kept() {
    let stage = Stage::of(&["a \"quoted\" shop", "bank"]).await;
    let text = stage.get(&stage.operator(), "/metrics").await.text();
    assert!(text.contains(r#"project="a \"quoted\" shop""#), "{text}");
    let mut seen = std::collections::HashSet::new();
    let mut family = "";
    for line in text.lines() {
        assert!(seen.insert(line), "twice: {line}");
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap();
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            assert_eq!(name, family, "{line}");
            assert!(line.rsplit(' ').next().unwrap().parse::<u64>().is_ok(), "{line}");
        }
    }
}

#[tokio::test]
async fn numbers_are_not_for_every_role() {
    let stage = Stage::of(&["bank", "shop"]).await;
    let answerer = stage.token("ann", AccessRole::Answerer, ProjectVisibility::All);
    assert_eq!(stage.get(&answerer, "/metrics").await.status, 403);
    assert_eq!(stage.get("nonsense", "/metrics").await.status, 401);
    let only =
        stage.token("bob", AccessRole::Viewer, ProjectVisibility::Only(["shop".into()].into()));
    let text = stage.get(&only, "/metrics").await.text();
    assert!(text.contains("shop") && !text.contains("bank"), "{text}");
}
