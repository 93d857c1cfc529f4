//! The tools of a model, on real files and with real commands under the real guard.

mod commands;
mod files;
mod looking;
mod specs;
mod typed;
mod worktree;
