//! Unstuck's tools for agents that are programs: the part of the Model Context Protocol that tools
//! need.
//!
//! The module does no I/O. [`McpProtocol`] turns a line from the client into a response or a
//! [`McpCall`] to execute; [`ParsedMcpCall`] is the typed form of such a call. Executing calls and
//! moving lines is the caller's part. The protocol, and the reason for doing without a library, are
//! described in `docs/design/mcp.md` and `docs/adr/0031-mcp-without-a-library.md`.

mod lines;
mod protocol;
mod tools;

use std::ffi::OsString;

pub use lines::{LINE_BYTES_MAX, McpLine, McpLineSplitter};
pub use protocol::{McpCall, McpProtocol, McpReaction};
pub use tools::{CheckAnswer, ParsedMcpCall, ReportFailure, mcp_tools};

/// The name of the server in its clients.
pub const NAME: &str = "unstuck";

/// The path of the control socket.
pub const SOCKET: &str = "UNSTUCK_SOCKET";
/// The token that proves which run the process belongs to.
pub const TOKEN: &str = "UNSTUCK_TOKEN";
/// The id of the run.
pub const RUN: &str = "UNSTUCK_RUN";
/// The names and places that actions declared by an agent may use, as JSON; no secrets.
pub const DECLARABLE: &str = "UNSTUCK_DECLARABLE";

/// All variables by which a child process of a run finds the holder; a client has to pass them on
/// to the server.
pub const VARIABLES: [&str; 4] = [SOCKET, TOKEN, RUN, DECLARABLE];

/// Returns whether processes with this environment can reach the holder. Those that cannot get no
/// MCP tools, because these could do nothing for them.
pub(crate) fn can_reach_holder(environment: &[(OsString, OsString)]) -> bool {
    environment.iter().any(|(name, value)| name == TOKEN && !value.is_empty())
}

pub(crate) fn claude_name(tool: &str) -> String {
    format!("mcp__{NAME}__{tool}")
}

pub(crate) fn codex_name(tool: &str) -> String {
    format!("{NAME}.{tool}")
}

/// Returns whether an agent's own name for a tool refers to the Unstuck tool `tool`.
pub fn is_named(name: &str, tool: &str) -> bool {
    name == claude_name(tool) || name == codex_name(tool)
}
