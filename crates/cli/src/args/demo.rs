//! `unstuck demo` on the command line.

use std::path::PathBuf;

/// Show a whole night in a minute: no key, no network
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Plays one night of six tasks on the real loop, a real store and a real repository, \
        in virtual time: checks that are red, an account that is limited, a change outside the \
        fence, a lost connection during a push, a killed program, and a question for you. The \
        agents follow a script; git, the checks and every decision are real. Nothing is sent, and what \
        is written is removed at the end. If you kill it, the next `unstuck demo` goes on.\n\n\
        Without a terminal the recommended answer is taken.",
    after_long_help = DEMO_EXAMPLES
)]
pub(crate) struct DemoArgs {
    /// Take the recommended answers instead of asking
    #[arg(long)]
    pub(crate) auto: bool,

    /// The seed of chance: it spreads the waits
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,

    /// Play the night in this folder, in this process
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) night: Option<PathBuf>,

    /// Do not kill it half-way
    #[arg(long, hide = true)]
    pub(crate) gently: bool,

    /// Have it die at the nth place where it can, in builds that are not for release
    #[arg(long, value_name = "NTH", hide = true)]
    pub(crate) crash_at: Option<u64>,
}

const DEMO_EXAMPLES: &str = "\
Examples:
  unstuck demo                       answer its question yourself
  unstuck demo --auto                let the recommended answer be taken
  unstuck demo --auto --seed 11      the same night with other chances";
