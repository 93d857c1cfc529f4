//! Repairs of a job's script on real repositories: real git, real checks, the real loop; only the
//! agent is scripted.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod proving;
mod stage;
mod twice;

use crate::build::repo;
