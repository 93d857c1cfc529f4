//! Attempts: what an agent tried, and whether the next try is really a different one.

mod approach;

pub use approach::{Approach, Digest};
