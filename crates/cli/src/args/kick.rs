//! `unstuck kick` on the command line.

/// End a wait early and try now
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Ends a wait early: a pause between two tries, or the wait for an account that was \
        limited. Where several tasks wait for one account, one of them tries first. Without a task \
        every wait of the newest build ends. Nothing is charged for it; if it was too early, it \
        waits again.",
    after_long_help = KICK_EXAMPLES
)]
pub(crate) struct KickArgs {
    /// The task, by its number (`12`, `t12`), its name or the beginning of its name
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,

    /// Write the events it led to as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const KICK_EXAMPLES: &str = "\
Examples:
  unstuck kick                       everything that waits
  unstuck kick importer              one task or job, by its name
  unstuck kick t12                   or by its number";
