//! `unstuck forget` on the command line.

/// Forget the tries of an error, so that it starts with a clean slate
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORGET_EXAMPLES)]
pub(crate) struct ForgetArgs {
    /// The error, as `unstuck status` names it
    #[arg(value_name = "SIGNATURE", required_unless_present = "all")]
    pub(crate) signature: Option<String>,

    /// All errors of the project
    #[arg(long, conflicts_with = "signature")]
    pub(crate) all: bool,
}

const FORGET_EXAMPLES: &str = "\
Examples:
  unstuck forget LOGIC_ERROR:3f2a9c0d11e4
  unstuck forget --all";
