//! Policy: every limit of the engine, as data.
//!
//! A policy is read once, checked once and handed to each decision. Nothing in it is a clock, a
//! file or an environment variable.

mod amount;
mod backoff;
mod check;
mod limits;

pub use amount::Amount;
pub use backoff::Backoff;
pub use limits::{Budget, CodeLimits, Limits, Overrides, Policy, Retry, Wait};
