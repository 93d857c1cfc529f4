//! `unstuck skip` on the command line.

/// Leave a task out, and what needs it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Leaves a task out, and with it every task that needs it. A question that only they \
        waited for is withdrawn. `unstuck retry` takes it back. It asks before it does so; without \
        a terminal it needs --yes.",
    after_long_help = SKIP_EXAMPLES
)]
pub(crate) struct SkipArgs {
    /// The task, by its number (`12`, `t12`), its name or the beginning of its name
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Write the events it led to as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const SKIP_EXAMPLES: &str = "\
Examples:
  unstuck skip importer              by its name
  unstuck skip t12 --yes             by its number, without a question";
