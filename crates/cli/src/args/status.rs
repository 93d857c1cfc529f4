//! `unstuck status` on the command line.

/// Show where everything stands
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// Show ids, codes and counters as well
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}
