//! `unstuck why` on the command line.

use unstuck_core::engine::RunId;

use super::value::parse_run_id;

/// Say why a run was decided upon as it was
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The run, such as `12` or `r12`; `unstuck status` shows them
    #[arg(value_parser = parse_run_id)]
    pub(crate) run: RunId,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}
