//! The decision logic of Unstuck.
//!
//! Given a failure and a history, it returns a decision and its reason. It performs no I/O, reads no clock
//! and holds no random source: time, randomness and configuration are arguments, and its dependency list
//! cannot reach anything impure.
//!
//! Modules:
//! - [`fault`]: the closed set of failure codes, the table about them, and the text rules for output of
//!   foreign tools;
//! - [`signature`]: recognition of the same error;
//! - [`failing`]: the failed tests of a red check, and whether two checks fail in the same way;
//! - [`policy`]: all limits, as data;
//! - [`engine`]: commands in, events out;
//! - [`question`], [`text`] and [`tell`]: texts for people and agents;
//! - [`nearest`](mod@nearest): suggestions for a mistyped name;
//! - [`attempt`]: comparison of approaches, and detection of an agent that loops;
//! - [`tracker`]: a small façade for programs that only need the per-error retry budget.

mod amount;
pub mod attempt;
pub mod chance;
mod code;
pub mod engine;
pub mod failing;
pub mod fault;
pub mod nearest;
pub mod plan;
pub mod policy;
pub mod question;
pub mod signature;
pub mod tell;
pub mod text;
pub mod time;
pub mod tracker;
