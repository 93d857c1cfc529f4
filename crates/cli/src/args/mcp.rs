//! `unstuck mcp` on the command line.

/// Give an agent tools to ask, tell and report: an MCP server on standard input and output
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Speaks the Model Context Protocol on standard input and output, so that an agent can \
        ask a person (ask_human, check_answer), report a failure and hear what to do about it \
        (report_failure), tell what it does (narrate), declare what cannot be taken back (mutate), \
        and say how its task ended (task_done, task_blocked).\n\n\
        Unstuck starts it by itself for the agents that it runs; it then reports for their run and \
        for nothing else. Any other client can start it in a project: its questions come into the \
        inbox like all others. It ends when its input ends.",
    after_long_help = MCP_EXAMPLES
)]
pub(crate) struct McpArgs {}

const MCP_EXAMPLES: &str = "\
Examples:
  claude mcp add unstuck -- unstuck mcp      for your own sessions with Claude Code
  codex mcp add unstuck -- unstuck mcp       and with Codex
  unstuck -C ~/shop mcp                      for the project in another folder";
