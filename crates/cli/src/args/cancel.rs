//! `unstuck cancel` on the command line.

use unstuck_core::engine::BuildId;

use super::value::parse_build_id;

/// End a build; what is done stays
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Ends a build for good: agents stop, what cannot be stopped half-way ends its step \
        first, and every task that is not done is cancelled. What is done stays on the build's \
        branch. It asks before it does so; without a terminal it needs --yes.",
    after_long_help = CANCEL_EXAMPLES
)]
pub(crate) struct CancelArgs {
    /// The build, such as `7` or `b7`; the newest that has not ended without it
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    pub(crate) build: Option<BuildId>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Write the events it led to as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const CANCEL_EXAMPLES: &str = "\
Examples:
  unstuck cancel                     the build that is under way
  unstuck cancel b7 --yes            this one, without a question";
