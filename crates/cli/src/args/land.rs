//! `unstuck land` on the command line.

use unstuck_core::engine::BuildId;

use super::value::build;

/// Bring what a build did into your branch
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows what a build would bring to the branch you are on: its commits, the files they \
        change, and whether they fit. With --merge or --rebase it brings them. Your branch, its \
        index and its files change only if everything fits and nothing of yours is uncommitted; \
        otherwise nothing is changed at all. The build's own branch stays as it is.",
    after_long_help = LAND_EXAMPLES
)]
pub(crate) struct Land {
    /// The build, such as `7` or `b7`; the newest without it
    #[arg(value_name = "BUILD", value_parser = build)]
    pub(crate) build: Option<BuildId>,

    /// Bring it: move your branch on where that is enough, or make a merge commit
    #[arg(long)]
    pub(crate) merge: bool,

    /// Bring it: put its commits on top of yours, one by one
    #[arg(long, conflicts_with = "merge")]
    pub(crate) rebase: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const LAND_EXAMPLES: &str = "\
Examples:
  unstuck land                       what the newest build would bring
  unstuck land --merge               bring it
  unstuck land b7 --rebase           put its commits on top of yours";
