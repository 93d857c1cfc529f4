//! `unstuck status` on the command line.

/// Show where everything stands
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Show ids, codes and counters as well
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}
