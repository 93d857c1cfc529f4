//! `unstuck store` on the command line.

use std::path::PathBuf;

use clap::Subcommand;

/// Keep a copy of what a project remembers, go back to one, go on after a loss
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Everything that Unstuck remembers about a project is in one database: the journal, \
        questions and answers, the tries of each error, and which irreversible actions were performed. \
        `backup` copies it as it is at one moment, also while something runs. `restore` puts a copy in \
        its place. `verify` walks through the journal and its seals.\n\n\
        A journal that lost something is refused, because an action in it might be performed twice. \
        Where there is no copy, `accept-loss` goes on with what is left: of the actions that were let \
        go since, those that are known are asked about before they are performed again.\n\n\
        What happened after the copy was made is forgotten by going back to it, actions that were \
        performed included. So look first, and go back only when the database itself is lost.",
    after_long_help = STORE_EXAMPLES
)]
pub(crate) struct StoreArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// What can be done with a store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy everything into a new file
    Backup {
        /// The file; it must not be there yet
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Go back to a copy; nothing may be running
    Restore {
        /// The copy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Walk through the journal, and say whether it is what was written
    Verify,
    /// Go on without what the journal lost; nothing may be running
    AcceptLoss {
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

const STORE_EXAMPLES: &str = "\
Examples:
  unstuck store backup ~/copies/shop.db     copy it, also while something runs
  unstuck store restore ~/copies/shop.db    go back to that copy
  unstuck store verify                      is the journal what was written?
  unstuck store accept-loss                 go on with what is left of it";
