//! The program as a person and a script meet it.

mod completions;
mod explain;
mod help;
mod program;
