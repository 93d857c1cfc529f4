//! `unstuck explain` on the command line.

/// Say what a fault code means and what Unstuck does about it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Says what a fault code means: what happened, what Unstuck does about it by \
        itself, and what you can do. Without a code it lists all of them by category.\n\n\
        On a terminal the page is laid out for reading; elsewhere it is Markdown.",
    after_long_help = EXPLAIN_EXAMPLES
)]
pub(crate) struct ExplainArgs {
    /// A code such as `AUTH_EXPIRED`; letter case and `-` for `_` do not matter
    pub(crate) code: Option<String>,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unstuck explain                    all codes, by category
  unstuck explain git-conflict       letter case and `-` do not matter
  unstuck explain --json             the whole table, for a program

A name that is no code ends with exit code 2 and the nearest names.";
