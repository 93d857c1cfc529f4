//! The loop around a model: the real loop, runner, tools, worktrees and client, against a local
//! service that answers by a script.

mod asking;
mod crashing;
mod failing;
mod model_project;
mod refused;
mod waiting;
pub(crate) mod wire;
mod working;
