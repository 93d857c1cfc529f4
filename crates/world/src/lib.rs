//! Unstuck's hands: the part that acts.
//!
//! What it sees go wrong it states as a typed fault of `unstuck-core`; what is done about it is
//! decided there. It reads no settings and no environment of its own accord, and it never prints
//! what is not a child's own output.
//!
//! Where to look:
//! - [`agent`]: what works on a task by itself;
//! - [`commands`]: which commands may run, and with what means;
//! - [`connector`]: irreversible actions, and how each is looked up;
//! - [`egress`]: the only way out to the network for programs behind the wall;
//! - [`fake`]: stand-ins for the outside, for tests, drill and demo;
//! - [`git`]: the git command as typed operations;
//! - [`mcp`]: our tools for agents that are programs;
//! - [`model`]: what thinks behind an API;
//! - [`notify`]: telling somebody who is elsewhere;
//! - [`process`]: programs and everything they start, under a guard that ends all of it;
//! - [`provider`]: who does the thinking: agent programs and models;
//! - [`redact`]: taking secrets out of what leaves;
//! - [`scope`]: the fence, before a tool acts and after;
//! - [`tool`]: what a model can do;
//! - [`validate`]: the checks that a change passes, run by us;
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
