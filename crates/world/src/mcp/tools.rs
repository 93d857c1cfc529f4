//! The definitions of the tools that the server lists.

use serde_json::json;

use crate::model::ToolSpec;
use crate::tool::{build_tool_spec, number_schema, statement_tools, text_schema};

/// Returns all tools of the server: those that Unstuck's own models use to speak, and two more.
pub fn mcp_tools() -> Vec<ToolSpec> {
    let mut all = statement_tools();
    all.push(build_tool_spec(
        "check_answer",
        "Looks whether a person has answered a question that was asked before, and shows the answer.",
        &json!({ "question": text_schema("The question, as ask_human named it.") }),
        &["question"],
    ));
    all.push(build_tool_spec(
        "report_failure",
        "Reports a failure that you cannot get past by yourself. The answer says what to do: take \
         another way, wait, or stop because a person is asked. Give the code if you know it, \
         otherwise what the failed program wrote.",
        &json!({
            "code": text_schema("The code, such as AUTH_EXPIRED; `unstuck explain` lists them."),
            "message": text_schema("What failed, in the words of whatever failed."),
            "retry_after_seconds": number_schema("How long the other side asked to wait, if it did."),
        }),
        &["message"],
    ));
    all
}
