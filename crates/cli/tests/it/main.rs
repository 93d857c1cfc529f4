//! The program as a person and a script meet it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod classify;
mod completions;
mod demo;
mod exec;
mod explain;
mod forget;
mod help;
mod inbox;
mod log;
mod night;
mod process;
mod program;
mod report;
mod shop;
mod status;
mod terminal;
mod why;
