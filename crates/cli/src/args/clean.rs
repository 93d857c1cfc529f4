//! `unstuck clean` on the command line.

/// Remove what builds that are over have left behind
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Removes the worktrees and branches of builds that are over, if they hold nothing that is \
        nowhere else, and says what it keeps and why: a build that is not over, changes that are \
        saved nowhere, commits that are in none of your branches. Saved attempts stay. It asks \
        before it does so; without a terminal it needs --yes. While something runs \
        it does nothing.",
    after_long_help = CLEAN_EXAMPLES
)]
pub(crate) struct CleanArgs {
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Only say what would go and what would stay
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Write JSON; it needs --yes or --dry-run
    #[arg(long)]
    pub(crate) json: bool,
}

const CLEAN_EXAMPLES: &str = "\
Examples:
  unstuck clean --dry-run            what would go, and what would stay
  unstuck clean                      the same, then asks
  unstuck clean --yes                without a question";
