//! The tools of a model: actions in its worktree, and statements to the worker.
//!
//! [`ToolCall`] parses a call: JSON becomes a typed value or a typed fault. [`Toolbox`] performs
//! actions within a worktree, a scope and a policy for commands; every path is checked against the
//! scope before it is touched. An invalid or forbidden call is a fault; a command that ran and
//! failed returns its output, together with the fault that the output amounts to. The caller
//! decides whether that counts.
//! Design: `docs/design/agent-loop.md`.

mod allow;
mod changed_code;
mod declare;
mod files;
mod output;
mod push;
mod run;
mod spec;
mod toolbox;
mod wish;

pub use allow::{ActionPermit, ActionReach, ActionRule};
pub use changed_code::find_changed_code;
pub use declare::{DeclarationPolicy, command_line, shell_lines};
pub(crate) use output::bad_input_fault;
pub use output::{PreventedAction, SHOWN_BYTES_MAX, ToolOutput, shorten_text};
pub use push::DeclaredPush;
pub use run::{ToolContext, looks_like_closed_network};
pub(crate) use spec::{build_tool_spec, number_schema, text_schema};
pub use spec::{statement_tools, tool_specs};
pub use toolbox::Toolbox;
pub(crate) use wish::parse_input;
pub use wish::{
    AskHuman, Declaration, EditFile, IrreversibleAction, ListFiles, ModelStatement, ReadFile,
    RunCommand, SearchText, ToolCall, WorktreeAction, WriteFile,
};
