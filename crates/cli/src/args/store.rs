//! `unstuck store` on the command line.

use std::path::PathBuf;

use clap::Subcommand;

/// Keep a copy of what a project remembers, or go back to one
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Everything that Unstuck remembers about a project is in one database: the journal, \
        questions and answers, the tries of each error, and which irreversible actions were performed. \
        `backup` copies it as it is at one moment, also while something runs. `restore` puts a copy in \
        its place.\n\n\
        What happened after the copy was made is forgotten by going back to it, actions that were \
        performed included. So look first, and go back only when the database itself is lost.",
    after_long_help = STORE_EXAMPLES
)]
pub(crate) struct Store {
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
}

const STORE_EXAMPLES: &str = "\
Examples:
  unstuck store backup ~/copies/shop.db     copy it, also while something runs
  unstuck store restore ~/copies/shop.db    go back to that copy";
