//! The loop around a model: think, act, observe, until the task is done or cannot go on.
//!
//! One [`AgentLoop::work`] is one attempt. The loop decides nothing about failures: it reports them
//! with their facts, and what the engine decides comes back to the model as the result of what it
//! did. Before each call the most it can cost is reserved; after each round the conversation is on
//! disk with the progress it stands for.
//! Design: `docs/design/agent-loop.md`.

mod agent_loop;
mod answer;
mod compact;
mod cost;
mod desk;
mod memory;
mod prompt;

pub use agent_loop::{AgentLoop, Assignment, End, Finished, Settings};
