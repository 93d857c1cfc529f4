//! Unstuck's hands: the part that acts.
//!
//! What it sees go wrong it states as a typed fault of `unstuck-core`; what is done about it is
//! decided there. It reads no settings and no environment of its own accord, and it never prints
//! what is not a child's own output.
//!
//! Where to look:
//! - [`agent`]: what works on a task by itself; [`model`]: what thinks behind an API;
//! - [`fake`]: stand-ins for the outside, for tests, drill and demo;
//! - [`process`]: programs and everything they start, under a guard that ends all of it;
//! - [`provider`]: the agents and models there are;
//! - [`redact`]: taking secrets out of what leaves.

#![expect(
    clippy::result_large_err,
    reason = "a fault is the error of everything here; it carries its facts, and it is rare"
)]

pub mod agent;
pub mod fake;
pub mod model;
pub mod process;
pub mod provider;
pub mod redact;
