//! `unstuck exec` on the command line.

use std::ffi::OsString;

use unstuck_core::time::Span;

use super::value::parse_span;
use crate::settings::Phase;

/// Keep a command alive: wait out what passes, ask about what does not
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command and keeps it alive. When it fails, the failure gets a code: by its \
        exit status, its signal, a timeout, or what it wrote. What passes by itself is waited out \
        and tried again, up to five times; what needs a person becomes one question in the inbox, \
        and the command goes on after the answer.\n\n\
        When its own code is broken and the settings name an agent, the agent repairs the files of \
        the project that the command names, in a worktree. A repair that passes the checks is \
        committed to your branch, and the command runs again.\n\n\
        Its output passes through unchanged; what Unstuck has to say goes to standard error. \
        Everything is on disk before it happens: after a crash, the same command takes up where \
        it was.",
    after_long_help = EXEC_EXAMPLES
)]
pub(crate) struct ExecArgs {
    /// What to call it; the command itself without this
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// End it when it takes longer, and try again: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) timeout: Option<Span>,

    /// What it is there for: one that reads or decides must not do what cannot be taken back
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Option<Phase>,

    /// Give up waiting for a person after this long; 0 does not wait at all
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) max_wait: Option<Span>,

    /// What an agent does when the command's own code is broken
    #[arg(
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "commit"
    )]
    pub(crate) repair: Option<RepairModeArg>,

    /// End with the last exit status of the command itself
    #[arg(long)]
    pub(crate) passthrough: bool,

    /// Say nothing but errors and questions
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Say what happens as events, one JSON object a line, on standard error
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What becomes of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RepairModeArg {
    /// Repair it, check the repair, commit it, and go on
    Commit,
    /// Put the repair on a branch and ask
    Propose,
    /// Ask, without a repair
    Off,
}

const EXEC_EXAMPLES: &str = "\
Examples:
  unstuck exec -- ./backup.sh
  unstuck exec --name nightly --timeout 2h -- make publish
  unstuck exec --max-wait 0 -- ./sync      from cron: do not wait for a person
  unstuck exec --repair=propose -- ./sync  put a repair on a branch, and ask

Exit codes: 0 when it succeeded in the end; 3 when a person is needed and --max-wait is over;
1 when it was left out; 70, 75, 77, 78 and 124 as `unstuck --help` says.";
