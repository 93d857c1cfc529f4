//! What the tools of Claude Code are for.

use unstuck_core::attempt::ToolKind;

use crate::mcp;

/// What a tool is for, by its name. One that is not known may do anything.
pub(super) fn kind(name: &str) -> ToolKind {
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
