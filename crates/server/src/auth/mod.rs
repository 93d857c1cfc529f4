//! Who is there, and what they may do.

mod caller;

pub use caller::{Caller, Reach, Role};
