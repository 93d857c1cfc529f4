//! `unstuck jobs` on the command line.

use clap::Subcommand;
use unstuck_core::time::Span;

use super::value::parse_span;

/// Run scripts at their times and keep them alive
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Jobs are scripts that run at their times, and are kept alive as `unstuck exec` does: what \
        passes is waited out, what needs a person becomes one question. They are written in \
        unstuck.toml as `[[job]]`, or in files of their own in jobs/.\n\n\
        `unstuck jobs` lists them, `unstuck jobs --watch` runs them at their times until it is \
        interrupted.",
    after_long_help = JOBS_EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct JobsArgs {
    /// What to do; without it, lists the jobs
    #[command(subcommand)]
    pub(crate) command: Option<JobsCommand>,

    /// Run them at their times, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be done with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List the jobs, and when each runs next
    List {
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a job to the settings
    Add(AddJobArgs),
    /// Run a job now
    Run {
        /// Its name
        name: String,
        /// Give up waiting for a person after this long; 0 does not wait at all
        #[arg(long, value_name = "TIME", value_parser = parse_span)]
        max_wait: Option<Span>,
        /// Say nothing but errors and questions
        #[arg(short, long)]
        quiet: bool,
        /// Say what happens as events, one JSON object a line, on standard error
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
    },
    /// Leave a job alone when its time comes
    Pause {
        /// Its name
        name: String,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a paused job at its times again
    Resume {
        /// Its name
        name: String,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how a job ended each time, with every attempt
    History {
        /// Its name
        name: String,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
}

/// A job to be added.
#[derive(Debug, clap::Args)]
pub(crate) struct AddJobArgs {
    /// What to call it: letters, digits, `-`, `_` and `.`
    pub(crate) name: String,

    /// When it runs: "every 5 minutes", 2h, or a cron line; only when asked for without it
    #[arg(long, value_name = "WHEN")]
    pub(crate) schedule: Option<String>,

    /// The place whose clocks count, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,

    /// End it when it takes longer, and try again: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) timeout: Option<Span>,

    /// What it is for, in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,

    /// Write it to jobs/NAME.md instead of unstuck.toml
    #[arg(long)]
    pub(crate) file: bool,

    /// The command and its arguments; one argument is a line for the shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const JOBS_EXAMPLES: &str = "\
Examples:
  unstuck jobs add mail --schedule 'every 5 minutes' -- ./sync-mail.sh
  unstuck jobs                       what there is, and when it runs next
  unstuck jobs --watch               run them at their times
  unstuck jobs run mail              run one now
  unstuck jobs pause mail            leave it alone until `unstuck jobs resume mail`
  unstuck jobs history mail          how it went, with every attempt

Exit codes of `jobs run`: as of `unstuck exec`.";
