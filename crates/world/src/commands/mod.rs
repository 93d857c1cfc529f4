//! Decides which commands an agent may run, and with which environment.
//!
//! This is a courtesy, not a sandbox: it parses a line of shell well enough to see what it starts,
//! so that honest mistakes end in a message instead of an accident. An agent that wants to get past
//! it can (a script in another language, a name that is put together at run time). The real
//! protection is that the system refuses writes outside and connections, where it can
//! ([`CommandEnforcement`]), that the environment carries no credentials to push or publish with
//! ([`CommandEnvironment`]), and that the difference from the base is checked afterwards. Design:
//! `docs/design/agent-loop.md`.

mod enforcement;
mod environment;
mod policy;
mod rule;
mod shell;
mod shims;

pub use enforcement::{CommandEnforcement, NetworkIsolation};
pub use environment::CommandEnvironment;
pub(crate) use policy::irreversible_fault;
pub use policy::{CommandPolicy, CommandRefusal, CommandRules};
pub(crate) use rule::pushes_commits;
pub use rule::{describe_never_runs, find_refusal};
pub use shell::list_programs;
pub(crate) use shell::{base_name, find_only_program, loses_exit_code, strip_redirections};
pub use shims::{CommandShims, REFUSALS_MAX};
