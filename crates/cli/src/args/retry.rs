//! `unstuck retry` on the command line.

/// Do a task after all that failed or was left out
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Has a task done after all that failed, was left out or was cancelled, and with it the \
        tasks that were left out because they need it. A build that has ended goes on for that.",
    after_long_help = RETRY_EXAMPLES
)]
pub(crate) struct RetryArgs {
    /// The task, by its number (`12`, `t12`), its name or the beginning of its name
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// Write the events it led to as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const RETRY_EXAMPLES: &str = "\
Examples:
  unstuck retry importer             by its name
  unstuck retry t12                  by its number";
