//! `unstuck drill` on the command line.

/// Prove it on this machine: real faults in a throw-away folder
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Makes things go wrong on purpose, on this very machine, and looks whether Unstuck \
        does what it promises: limited and overloaded services, a wrong key, a hung agent, a change \
        outside the fence, an error that comes back, kill -9 in the middle of an attempt and of a \
        push, and an agent that tries to get out of its wall. The services are local, the agents follow a script; git, the processes, the store \
        and every decision are real. It takes a minute or two, sends nothing, and leaves nothing \
        behind.",
    after_long_help = DRILL_EXAMPLES
)]
pub(crate) struct DrillArgs {
    /// Only these checks
    #[arg(value_name = "CHECK")]
    pub(crate) checks: Vec<String>,

    /// List the checks and do nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const DRILL_EXAMPLES: &str = "\
Examples:
  unstuck drill
  unstuck drill killed-push          one of them
  unstuck drill wall                 what an agent cannot do here
  unstuck drill --list

Exit codes: 0 when everything held; 1 when something did not.";
