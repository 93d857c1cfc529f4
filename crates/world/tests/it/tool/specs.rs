//! What a model is told of its tools.

use serde_json::json;
use unstuck_world::tool::tool_specs;

#[test]
fn the_tools_as_they_are_told() {
    let told: Vec<_> = tool_specs()
        .into_iter()
        .map(|spec| json!({ "name": spec.name, "description": spec.description, "input": spec.input }))
        .collect();
    insta::assert_json_snapshot!(told);
}
