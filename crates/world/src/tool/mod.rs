//! The tools of a model: actions in its worktree, and statements to the worker.
//!
//! [`Wish`] parses a call: JSON becomes a typed value or a typed fault. [`Toolbox`] performs
//! actions within a worktree, a scope and a policy for commands; every path is checked against the
//! scope before it is touched. An invalid or forbidden call is a fault; a command that ran and
//! failed returns its output, together with the fault that the output amounts to. The caller
//! decides whether that counts.
//! Design: `docs/design/agent-loop.md`.

mod allow;
mod changed_code;
mod declare;
mod fail;
mod files;
mod look;
mod run;
mod shorten;
mod spec;
mod toolbox;
mod walled;
mod wish;

pub use allow::{ActionReach, ActionRule, Permitted};
pub use changed_code::changed_code;
pub use declare::{Declarable, Irreversible, shell_lines};
pub(crate) use fail::bad_input;
pub use shorten::{SHOWN_BYTES_MAX, shorten};
pub(crate) use spec::{described, number, text};
pub use spec::{specs, spoken};
pub use toolbox::{KeptFrom, Means, Shown, Toolbox};
pub(crate) use wish::typed;
pub use wish::{
    Act, AskHuman, Declaration, EditFile, ListFiles, ReadFile, RunCommand, SearchText, Speak, Wish,
    WriteFile,
};
