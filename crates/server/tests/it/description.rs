//! The description of the API.

use super::stage::Stage;

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
