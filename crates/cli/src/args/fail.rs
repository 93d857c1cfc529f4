//! `unstuck fail` on the command line.

use unstuck_core::fault::Code;
use unstuck_core::time::Span;

use super::value::{parse_code, parse_span};

/// Say what a script fails of, from inside the script
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lets a script say what it fails of, instead of having it read from its output. \
        Inside `unstuck exec` and jobs the code decides what happens next when the script ends \
        without success: wait and try again, ask you to log in, repair the script.\n\n\
        It ends with an exit code that fits the failure, never with 0, so that a script can end \
        with it. That holds without Unstuck around it as well.",
    after_long_help = FAIL_EXAMPLES
)]
pub(crate) struct FailArgs {
    /// The code, such as `AUTH_EXPIRED`; `unstuck explain` lists all
    #[arg(long, value_name = "CODE", value_parser = parse_code)]
    pub(crate) code: Code,

    /// What went wrong, for the operator
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) message: String,

    /// Whose login or right it is about: a service, an account, a host
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,

    /// How long the other side asked to wait: 30, 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) retry_after: Option<Span>,
}

const FAIL_EXAMPLES: &str = "\
Examples:
  ./login || exec unstuck fail --code AUTH_EXPIRED --account 'the shop'
  unstuck fail --code TOOL_RATE_LIMIT --retry-after 90s; exit 75

Exit codes: 75 for what passes by itself, 77 for logins and rights, 78 for settings, 124 for what
took too long, 1 for everything else.";
