//! `unstuck log` on the command line.

/// Show what happened, and what happens
#[derive(Debug, clap::Args)]
#[command(after_long_help = LOG_EXAMPLES)]
pub(crate) struct LogArgs {
    /// Go on as things happen
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// How many of the latest events to begin with
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) lines: u32,

    /// Only events after this position
    #[arg(long, value_name = "SEQ", conflicts_with = "lines")]
    pub(crate) after: Option<u64>,

    /// Write each event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const LOG_EXAMPLES: &str = "\
Examples:
  unstuck log -n 20                  the last twenty events, in plain words
  unstuck log -f                     go on as things happen
  unstuck log --json --after 1200    for a program, from a position on";
