//! `unstuck report` on the command line.

use std::path::PathBuf;

use unstuck_core::engine::BuildId;

use super::value::parse_build_id;

/// Tell what a build came to: what shipped, what did not and why, what waits for you
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Tells what a build came to: what shipped and what was really checked, what was \
        not done and why, what waits for you, how long accounts were closed, and what it cost. \
        While the build runs it says what there is so far.\n\n\
        On a terminal it is laid out for reading, elsewhere it is Markdown. Errors that were got \
        past are shown with `--all` only; in HTML they are folded away.",
    after_long_help = REPORT_EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "each of them is a flag of its own")]
pub(crate) struct ReportArgs {
    /// The build, such as `3` or `b3`; the newest one without it
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    pub(crate) build: Option<BuildId>,

    /// Write one HTML page that needs nothing else
    #[arg(long, group = "form")]
    pub(crate) html: bool,

    /// Write Markdown, on a terminal too
    #[arg(long, group = "form")]
    pub(crate) markdown: bool,

    /// Write JSON, with everything in it
    #[arg(long, group = "form")]
    pub(crate) json: bool,

    /// Show each check and the errors that were got past as well
    #[arg(long)]
    pub(crate) all: bool,

    /// Write to this file; `.html`, `.md` and `.json` say what it becomes
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  unstuck report                     the newest build
  unstuck report b3 --all            build b3, with each check and what was got past
  unstuck report -o report.html      a page to send to others
  unstuck report --json              for a program";
