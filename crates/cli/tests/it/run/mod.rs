//! `unstuck run` and `unstuck resume` as a person meets them: real worktrees, real commits, and
//! agents that follow a script.

mod ending;
mod killed;
mod live;
mod models;
mod refused;
mod secrets;
mod settings;
pub(crate) mod stage;
mod tasks;
mod telling;
mod together;
