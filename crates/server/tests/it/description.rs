//! The description of the API.

use axum::body::Body;
use axum::http::{Method, Request};
use unstuck_server::{AccessRole, ProjectVisibility};

use super::served_projects::{Stage, asked};

#[tokio::test]
async fn the_description_is_what_it_was() {
    let stage = Stage::new().await;
    let described = stage.get(&stage.operator(), "/api/openapi.json").await.json();
    let mut paths: Vec<String> = Vec::new();
    for (path, operations) in described["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let role = operation["x-role"].as_str().unwrap();
            paths.push(format!("{method} {path} ({role})"));
        }
    }
    insta::assert_snapshot!("paths", paths.join("\n"));
    insta::assert_json_snapshot!("openapi", described);
}

/// Every type that is spoken of is described.
#[tokio::test]
async fn nothing_is_spoken_of_that_is_not_described() {
    let stage = Stage::new().await;
    let described = stage.get(&stage.operator(), "/api/openapi.json").await;
    let (text, json) = (described.text(), described.json());
    let named = text.split("\"$ref\":\"#/components/schemas/").skip(1);
    for name in named.map(|rest| rest.split('"').next().unwrap()) {
        assert!(json["components"]["schemas"].get(name).is_some(), "{name}");
    }
    assert!(text.contains("\"$ref\""));
}

/// Every operation takes the role that it says, whatever else is wrong with the request.
#[tokio::test]
async fn every_operation_takes_its_role() {
    let stage = Stage::new().await;
    let roles = [AccessRole::Answerer, AccessRole::Viewer, AccessRole::Operator];
    let tokens = roles.map(|role| stage.token("anna", role, ProjectVisibility::All));
    let described = stage.get(&tokens[2], "/api/openapi.json").await.json();
    let mut looked_at = 0;
    for (path, operations) in described["paths"].as_object().unwrap() {
        let path = path.replace(['{', '}'], "");
        for (method, operation) in operations.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let bare = Request::builder().method(method.clone()).uri(&path);
            let bare = bare.header("host", "localhost").body(Body::empty()).unwrap();
            assert_eq!(stage.begin(bare).await.status(), 401, "{method} {path}");
            let needed = operation["x-role"].as_str().unwrap();
            let needed = roles.iter().position(|role| role.to_string() == needed).unwrap();
            for (has, token) in tokens.iter().enumerate() {
                let request = asked(method.clone(), token, &path, Body::from("{}"));
                let status = stage.begin(request).await.status();
                assert_eq!(
                    status == 403,
                    has < needed,
                    "{method} {path} as {}: {status}",
                    roles[has]
                );
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 20, "{looked_at}");
}
