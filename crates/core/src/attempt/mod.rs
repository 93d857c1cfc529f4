//! Attempts: what an agent tried, and whether the next try is really a different one.

mod approach;
mod observation;

pub use approach::{Approach, Digest};
pub use observation::{Judgement, SEEN_SIGNATURES_MAX, Seen};
