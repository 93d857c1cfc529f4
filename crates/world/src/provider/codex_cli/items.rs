//! The items of Codex: text, or the call of a tool.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use unstuck_core::attempt::{ActionOutcome, ToolKind};

use super::wire::CodexItem;
use crate::agent::Activity;
use crate::mcp;
use crate::provider::program::{INPUT_BYTES_MAX, clip_text, shorten_middle};

/// Returns the call that an item represents; `None` if it is no call.
pub(super) fn build_call_activity(item: &CodexItem<'_>) -> Option<Activity> {
    let tool = tool_kind(item)?;
    let name = match (&item.server, &item.tool) {
        (Some(server), Some(tool)) => format!("{server}.{tool}"),
        (None, Some(tool)) => tool.clone(),
        _ => item.kind.to_string(),
    };
    let input = clip_text(&build_input(item), INPUT_BYTES_MAX);
    Some(Activity::Called { call: item.id.to_string(), tool, name, input })
}

/// Returns the result of the call that an item represents.
pub(super) fn build_return_activity(item: &CodexItem<'_>) -> Option<Activity> {
    tool_kind(item)?;
    let status = item.status.as_deref();
    let ended_well = !matches!(status, Some("failed" | "declined"))
        && item.error.is_none()
        && !item.result.is_some_and(is_failure);
    let succeeded = ended_well && item.exit_code.is_none_or(|status| status == 0);
    let outcome = if succeeded { ActionOutcome::Succeeded } else { ActionOutcome::Failed };
    let output = match (&item.aggregated_output, item.error, item.result) {
        (Some(output), ..) => shorten_middle(output),
        (None, Some(error), _) => shorten_middle(error.get()),
        (None, None, Some(result)) => shorten_middle(result.get()),
        (None, None, None) => String::new(),
    };
    Some(Activity::Returned { call: item.id.to_string(), outcome, output })
}

/// Returns whether the result of a tool says that the tool failed.
fn is_failure(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct CodexToolResult {
        #[serde(rename = "isError")]
        is_error: Option<bool>,
    }
    serde_json::from_str::<CodexToolResult>(result.get())
        .is_ok_and(|result| result.is_error == Some(true))
}

/// Returns the command or the files that an item is about.
pub(super) fn describe_target(item: &CodexItem<'_>) -> String {
    match &item.command {
        Some(command) => command.clone(),
        None => item.changes.iter().map(|change| &*change.path).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the kind of tool; `None` if the item is no call.
fn tool_kind(item: &CodexItem<'_>) -> Option<ToolKind> {
    match &*item.kind {
        "commandExecution" => Some(ToolKind::Command),
        "fileChange" => Some(ToolKind::Edit),
        "webSearch" => Some(ToolKind::Search),
        "imageView" => Some(ToolKind::Read),
        "plan" => Some(ToolKind::Narrate),
        "mcpToolCall" if is_own_tool(item, "narrate") => Some(ToolKind::Narrate),
        "mcpToolCall" | "dynamicToolCall" | "collabAgentToolCall" | "imageGeneration" | "sleep" => {
            Some(ToolKind::Other)
        }
        _ => None,
    }
}

fn is_own_tool(item: &CodexItem<'_>, tool: &str) -> bool {
    item.server.as_deref() == Some(mcp::NAME) && item.tool.as_deref() == Some(tool)
}

fn build_input(item: &CodexItem<'_>) -> String {
    if let Some(arguments) = item.arguments {
        return arguments.get().to_owned();
    }
    let value = match (&item.command, &item.changes[..], &item.query, &item.path) {
        (Some(command), ..) => json!({ "command": command }),
        (_, [change], ..) => json!(change),
        (_, [_, _, ..], ..) => json!({ "changes": item.changes }),
        (_, _, Some(query), _) => json!({ "query": query }),
        (_, _, _, Some(path)) => json!({ "path": path }),
        _ => json!({}),
    };
    value.to_string()
}
