//! `unstuck mcp` as a client meets it: the real program, spoken to over pipes.

mod agent_build;
mod alone;
mod client;
mod in_run;
mod in_script;
mod in_task;
mod real;

use crate::program::unstuck;

#[test]
fn its_help() {
    insta::assert_snapshot!(unstuck(&["mcp", "--help"]));
}
