//! `unstuck init` on the command line.

/// Set a project up: settings, an example task, and what git ignores
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Sets a project up. It looks for the language, the test command, what a new \
        worktree needs, folders with tests and installed agents, and writes what it found to \
        unstuck.toml, with an example task in tasks/ and a line for .unstuck/ in .gitignore.\n\n\
        A file that is there already is left alone, so it may be run again at any time.",
    after_long_help = EXAMPLES
)]
pub(crate) struct InitArgs {
    /// Write unstuck.toml anew; the old one is kept as unstuck.toml.bak
    #[arg(long)]
    pub(crate) force: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  unstuck init                       in the folder of your project
  unstuck -C ../shop init            in another one
  unstuck init --force               look again, and write unstuck.toml anew";
