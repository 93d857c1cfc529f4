//! `unstuck notify` on the command line.

use clap::Subcommand;

use super::config::ConfigFileArgs;

/// See whether notifications arrive
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTIFY_EXAMPLES)]
pub(crate) struct NotifyArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: NotifyCommand,
}

/// What can be done with notifications.
#[derive(Debug, Subcommand)]
pub(crate) enum NotifyCommand {
    /// Send a test message by every channel, or by one
    Test {
        /// The channel, as `[notify.NAME]` names it
        channel: Option<String>,

        /// Write JSON
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        config: ConfigFileArgs,
    },
}

const NOTIFY_EXAMPLES: &str = "\
Examples:
  unstuck notify test                by every channel of unstuck.toml
  unstuck notify test phone          by one

Exit codes: 0 when all arrived; 1 when one did not; 78 when there is none.";
