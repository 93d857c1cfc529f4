//! Repairs of a job's script on real repositories: real git, real checks, the real loop; only the
//! agent is scripted.

mod broken_job;
mod proving;
mod twice;
