//! `unstuck completions` on the command line.

/// Write the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(unstuck completions bash)
  unstuck completions fish > ~/.config/fish/completions/unstuck.fish";
