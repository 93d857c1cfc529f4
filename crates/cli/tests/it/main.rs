//! The program as a person and a script meet it.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod browse;
mod classify;
mod clean;
mod completions;
mod control;
mod demo;
mod doctor;
mod drill;
mod examples;
mod exec;
mod explain;
mod fail;
mod few_files;
mod forget;
mod github;
mod help;
mod inbox;
mod init;
mod jobs;
mod land;
mod log;
mod lost;
mod mcp;
mod mutate;
mod night;
mod place;
mod process;
mod program;
mod project;
mod pty;
mod pull_request;
mod report;
mod run;
mod schema;
mod serve;
mod shop;
mod status;
mod store;
mod storm;
mod terminal;
mod token;
mod why;
