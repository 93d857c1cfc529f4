//! The definitions of the tools that the server lists.

use serde_json::json;

use crate::model::ToolSpec;
use crate::tool::{described, number, spoken, text};

/// Returns all tools of the server: those that Unstuck's own models use to speak, and two more.
pub fn tools() -> Vec<ToolSpec> {
    let mut all = spoken();
    all.push(described(
        "check_answer",
        "Looks whether a person has answered a question that was asked before, and shows the answer.",
        &json!({ "question": text("The question, as ask_human named it.") }),
        &["question"],
    ));
    all.push(described(
        "report_failure",
        "Reports a failure that you cannot get past by yourself. The answer says what to do: take \
         another way, wait, or stop because a person is asked. Give the code if you know it, \
         otherwise what the failed program wrote.",
        &json!({
            "code": text("The code, such as AUTH_EXPIRED; `unstuck explain` lists them."),
            "message": text("What failed, in the words of whatever failed."),
            "retry_after_seconds": number("How long the other side asked to wait, if it did."),
        }),
        &["message"],
    ));
    all
}
