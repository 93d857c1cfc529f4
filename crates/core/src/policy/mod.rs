//! Policy: all limits of the engine, as data.
//!
//! A policy is read once, checked once and passed to each decision. It contains no clock, file or environment
//! variable.

mod amount;
mod backoff;
mod check;
mod limits;

pub use amount::Amount;
pub use backoff::Backoff;
pub use limits::{
    BudgetLimits, CodeLimits, FaultLimits, Overrides, Policy, RetryLimits, WaitLimits,
};
