//! What a model can do in its worktree, and the words it can say to whoever lets it work.
//!
//! [`Wish`] is the door: JSON becomes a typed value there or a typed fault. [`Toolbox`] performs what
//! is to be done, within a worktree, a fence and rules about commands; every path passes the fence
//! before anything is touched. What was asked wrongly and what is not allowed is a fault; a command
//! that ran and failed shows what it wrote, with the fault its output amounts to beside it. Whether
//! that counts is decided elsewhere.
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
