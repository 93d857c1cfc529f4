//! The items of Codex: text, or the call of a tool.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use unstuck_core::attempt::{Outcome, ToolKind};

use super::wire::Item;
use crate::agent::Activity;
use crate::mcp;
use crate::provider::program::{INPUT_BYTES_MAX, clip, shown};

/// Returns the call that an item represents; `None` if it is no call.
pub(super) fn called(item: &Item<'_>) -> Option<Activity> {
    let tool = kind(item)?;
    let name = match (&item.server, &item.tool) {
        (Some(server), Some(tool)) => format!("{server}.{tool}"),
        (None, Some(tool)) => tool.to_string(),
        _ => item.kind.to_string(),
    };
    let input = clip(&input(item), INPUT_BYTES_MAX);
    Some(Activity::Called { call: item.id.to_string(), tool, name, input })
}

/// Returns the result of the call that an item represents.
pub(super) fn returned(item: &Item<'_>) -> Option<Activity> {
    kind(item)?;
    let status = item.status.as_deref();
    let ended_well = !matches!(status, Some("failed" | "declined"))
        && item.error.is_none()
        && !item.result.is_some_and(is_failure);
    let succeeded = ended_well && item.exit_code.is_none_or(|status| status == 0);
    let outcome = if succeeded { Outcome::Succeeded } else { Outcome::Failed };
    let output = match (&item.aggregated_output, item.error, item.result) {
        (Some(output), ..) => shown(output),
        (None, Some(error), _) => shown(error.get()),
        (None, None, Some(result)) => shown(result.get()),
        (None, None, None) => String::new(),
    };
    Some(Activity::Returned { call: item.id.to_string(), outcome, output })
}

/// Returns whether the result of a tool says that the tool failed.
fn is_failure(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Result {
        #[serde(rename = "isError")]
        is_error: Option<bool>,
    }
    serde_json::from_str::<Result>(result.get()).is_ok_and(|result| result.is_error == Some(true))
}

/// Returns the command or the files that an item is about.
pub(super) fn what(item: &Item<'_>) -> String {
    match &item.command {
        Some(command) => command.to_string(),
        None => item.changes.iter().map(|change| &*change.path).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the kind of tool; `None` if the item is no call.
fn kind(item: &Item<'_>) -> Option<ToolKind> {
    match &*item.kind {
        "commandExecution" => Some(ToolKind::Command),
        "fileChange" => Some(ToolKind::Edit),
        "webSearch" => Some(ToolKind::Search),
        "imageView" => Some(ToolKind::Read),
        "plan" => Some(ToolKind::Narrate),
        "mcpToolCall" if is_ours(item, "narrate") => Some(ToolKind::Narrate),
        "mcpToolCall" | "dynamicToolCall" | "collabAgentToolCall" | "imageGeneration" | "sleep" => {
            Some(ToolKind::Other)
        }
        _ => None,
    }
}

fn is_ours(item: &Item<'_>, tool: &str) -> bool {
    item.server.as_deref() == Some(mcp::NAME) && item.tool.as_deref() == Some(tool)
}

fn input(item: &Item<'_>) -> String {
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
