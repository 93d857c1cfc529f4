//! `unstuck pause` on the command line.

use unstuck_core::engine::BuildId;

use super::value::parse_build_id;

/// Hold a build until you let it go on
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Holds a build: agents stop where they are, a check, a commit or a push ends its step \
        first, and nothing new begins. Nothing is lost and nothing is charged. It works while \
        something runs and while nothing does.",
    after_long_help = PAUSE_EXAMPLES
)]
pub(crate) struct PauseArgs {
    /// The build, such as `7` or `b7`; the newest that has not ended without it
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    pub(crate) build: Option<BuildId>,

    /// Write the events it led to as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const PAUSE_EXAMPLES: &str = "\
Examples:
  unstuck pause                      the build that is under way
  unstuck pause b7                   this one";
