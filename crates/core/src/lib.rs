//! Unstuck's mind: the part that decides.
//!
//! Hand it a failure and a history and it answers with a decision and its reason. It performs no
//! I/O, reads no clock and holds no random source: time, randomness and configuration are
//! arguments, and its dependency list cannot reach anything impure.
//!
//! Where to look:
//! - [`fault`]: the closed set of failure codes, the one table about them, and the text rules for
//!   output of foreign tools;
//! - [`signature`]: how the same error is recognised again;
//! - [`failing`]: which tests a red check says failed, and whether two fail in the same way;
//! - [`policy`]: every limit, as data;
//! - [`engine`]: commands in, events out;
//! - [`question`], [`text`] and [`tell`]: what a person or an agent gets to read;
//! - [`nearest`](mod@nearest): what somebody may have meant who mistyped a name;
//! - [`attempt`]: proof that an approach is different, and detection of an agent going in circles;
//! - [`tracker`]: a small façade for programs that only want the per-error retry budget.

pub mod attempt;
pub mod chance;
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
