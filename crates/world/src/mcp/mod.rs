//! Our tools for agents that are programs: the Model Context Protocol, as far as tools need it.
//!
//! Pure. [`Protocol`] turns a line that a client wrote into an answer or a [`Call`] to carry out;
//! [`Wanted`] is the typed form of such a call. Who carries it out and how lines travel is for
//! others to see to. What the protocol is, and why it is spoken without a library, is in
//! `docs/design/mcp.md` and `docs/adr/0031-mcp-without-a-library.md`.

mod lines;
mod protocol;
mod tools;
mod variable;
mod wanted;
mod wire;

use std::ffi::OsString;

pub use lines::{LINE_BYTES_MAX, Line, Lines};
pub use protocol::{Call, Heard, Protocol};
pub use tools::tools;
pub use variable::{DECLARABLE, RUN, SOCKET, TOKEN, VARIABLES};
pub use wanted::{CheckAnswer, ReportFailure, Wanted};

/// What clients call the server.
pub const NAME: &str = "unstuck";

/// Whether processes with this environment can reach whoever decides. Those that cannot are better
/// off without our tools.
pub(crate) fn reaches_us(environment: &[(OsString, OsString)]) -> bool {
    environment.iter().any(|(name, value)| name == TOKEN && !value.is_empty())
}

/// How Claude Code names one of our tools.
pub(crate) fn claude_name(tool: &str) -> String {
    format!("mcp__{NAME}__{tool}")
}

/// How Codex names one of our tools.
pub(crate) fn codex_name(tool: &str) -> String {
    format!("{NAME}.{tool}")
}

/// Whether an agent's own name for a tool means this one of ours.
pub fn is_named(name: &str, tool: &str) -> bool {
    name == claude_name(tool) || name == codex_name(tool)
}
