//! The outside world against the real thing: git, programs, sandboxes, services and files.

mod egress;
mod git;
mod model;
mod notify;
mod provider;
mod redact;
mod scope;
mod support;
mod tool;
mod validate;
mod wall;
mod workspace;
