//! The program as a person and a script meet it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod classify;
mod completions;
mod demo;
mod doctor;
mod exec;
mod explain;
mod forget;
mod help;
mod inbox;
mod init;
mod log;
mod night;
mod place;
mod process;
mod program;
mod shop;
mod status;
mod terminal;
mod why;
