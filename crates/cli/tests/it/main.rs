//! The program as a person and a script meet it.

mod classify;
mod completions;
mod explain;
mod help;
mod program;
mod terminal;
