//! The part of Unstuck that acts on its surroundings: processes, git, networks, files.
//!
//! Failures are reported as typed faults of `unstuck-core`, which decides how to react to them. The
//! crate reads no settings and no environment of its own accord, and prints no output but that of
//! its child processes.
//!
//! Modules:
//! - [`agent`]: the interface to an agent that works on a task by itself;
//! - [`commands`]: the policy for commands, and the environment they run in;
//! - [`connector`]: irreversible actions, and the lookup of each;
//! - [`egress`]: the only route to the network for programs behind the wall;
//! - [`fake`]: stand-ins for external services, for tests, drill and demo;
//! - [`git`]: the git command as typed operations;
//! - [`mcp`]: Unstuck's tools for agents that are programs;
//! - [`model`]: the interface to a model behind an API;
//! - [`notify`]: notifications to the operator;
//! - [`process`]: child processes and their descendants, under a guard that ends all of them;
//! - [`provider`]: the agent programs and the models;
//! - [`redact`]: the removal of secrets from everything that leaves the program;
//! - [`scope`]: the limits on paths, checked before a tool acts and after;
//! - [`tool`]: the tools of a model;
//! - [`validate`]: the checks that a change has to pass, run by Unstuck itself;
//! - [`workspace`]: one worktree and one branch per task.

#![expect(
    clippy::result_large_err,
    reason = "a fault is the error of everything here; it carries its facts, and it is rare"
)]

pub mod agent;
pub mod commands;
pub mod connector;
pub mod egress;
pub mod fake;
pub mod git;
pub mod mcp;
pub mod model;
pub mod notify;
pub mod process;
pub mod provider;
pub mod redact;
mod regular_file;
pub mod scope;
pub mod tool;
pub mod validate;
pub mod workspace;
