//! The loop around a model: think, act, observe, until the task is done or cannot continue.
//!
//! One [`AgentLoop::run_attempt`] is one attempt. The loop decides nothing about failures: it
//! reports them with their facts, and the engine's decision goes back to the model as the result of
//! its call. Before each call its maximum cost is reserved; after each round the conversation is on
//! disk together with its progress.
//!
//! Design: `docs/design/agent-loop.md`.

mod agent_loop;
mod answer;
mod attempt;
mod memory;
mod prompt;
mod reporter;

pub use agent_loop::{AgentLoop, AgentLoopInput, AgentLoopResult};
pub use attempt::{AgentLoopEnd, ModelCallLimits};
pub(crate) use prompt::TASK_DONE;
