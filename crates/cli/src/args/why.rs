//! `unstuck why` on the command line.

use unstuck_core::engine::RunId;

use super::value::run;

/// Say why a run was decided upon as it was
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// The run, such as `12` or `r12`; `unstuck status` shows them
    #[arg(value_parser = run)]
    pub(crate) run: RunId,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}
