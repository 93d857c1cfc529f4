//! The kinds of Claude Code's tools.

use unstuck_core::attempt::ToolKind;

use crate::mcp;

/// Returns the kind of a tool by its name. An unknown tool may do anything.
pub(super) fn tool_kind(name: &str) -> ToolKind {
    if mcp::claude_name("narrate") == name {
        return ToolKind::Narrate;
    }
    match name {
        "Read" | "NotebookRead" | "WebFetch" => ToolKind::Read,
        "Grep" | "WebSearch" | "ToolSearch" => ToolKind::Search,
        "Glob" | "LS" | "TaskList" | "TaskGet" => ToolKind::List,
        "Write" => ToolKind::Write,
        "Edit" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Bash" => ToolKind::Command,
        "TodoWrite" | "TaskCreate" | "TaskUpdate" => ToolKind::Narrate,
        _ => ToolKind::Other,
    }
}
