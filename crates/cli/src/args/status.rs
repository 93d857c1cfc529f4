//! `unstuck status` on the command line.

/// Show where everything stands
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}
