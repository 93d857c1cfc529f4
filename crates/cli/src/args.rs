//! The command line: every verb, flag and help text.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "unstuck",
    version,
    about = "Runs AI agents unattended and gets them unstuck",
    long_about = "Runs AI agents unattended and gets them unstuck.\n\n\
        Every failure gets one of a closed set of codes, and the code alone decides what happens \
        next: wait, try a different approach, or ask a person. This version holds the part that \
        decides: `demo` plays a night on it, `classify` gives the output of any program its code \
        and the signature that recognises the same error again, and `explain` says what a code \
        means.",
    after_help = "`unstuck --help` adds examples and exit codes.",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    infer_subcommands = false
)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Write without colours, as with `NO_COLOR` set
    #[arg(long, global = true, display_order = 900)]
    pub(crate) no_color: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Explain(Explain),
    Classify(Classify),
    Demo(Demo),
    Completions(Completions),
}

/// Say what a fault code means and what Unstuck does about it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Says what a fault code means: what happened, what Unstuck does about it by \
        itself, and what you can do. Without a code it lists all of them by category.\n\n\
        On a terminal the page is laid out for reading; elsewhere it is Markdown.",
    after_long_help = EXPLAIN_EXAMPLES
)]
pub(crate) struct Explain {
    /// A code such as `AUTH_EXPIRED`; letter case and `-` for `_` do not matter
    pub(crate) code: Option<String>,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Name the failure in a program's output: its code, class, rule and signature
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Reads what a failed program wrote and names the failure: its code, the class \
        that says whether another try can help, the rule that found it, and the signature that \
        recognises the same error again, whatever its paths, line numbers and times are.\n\n\
        The answer is laid out for reading on a terminal and is one line of JSON elsewhere. The \
        text need not be UTF-8.\n\n\
        In bulk the input is one JSON string per line and the output one answer per line, in \
        order. A line that is no JSON string ends the command with exit code 2 and its number; \
        the lines before it have been answered.",
    after_long_help = CLASSIFY_EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "one field per flag of the command line")]
pub(crate) struct Classify {
    /// The file to read; standard input without it or with `-`
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Write JSON, on a terminal too
    #[arg(long)]
    pub(crate) json: bool,

    /// Read one JSON string per line, write one JSON object per line
    #[arg(long)]
    pub(crate) bulk: bool,

    /// As --bulk, but write only the code
    #[arg(long, conflicts_with_all = ["json", "signature_only"])]
    pub(crate) code_only: bool,

    /// As --bulk, but write only the signature
    #[arg(long, conflicts_with = "json")]
    pub(crate) signature_only: bool,
}

/// Show a whole night in a minute: no key, no network
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Plays one night of six tasks on the real engine in virtual time: checks that are \
        red, an account that is limited, a change outside the fence, a lost connection during a \
        push, a killed program, and a question for you. The agent and what goes wrong are \
        scripted; every decision, wait and sentence is the engine's own. Nothing is written and \
        nothing is sent.\n\n\
        Where nobody is at the keyboard the recommended answer is taken.",
    after_long_help = DEMO_EXAMPLES
)]
pub(crate) struct Demo {
    /// Take the recommended answers instead of asking
    #[arg(long)]
    pub(crate) auto: bool,

    /// The seed of chance: it spreads the waits
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
}

/// Write the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

const EXAMPLES: &str = "\
Examples:
  unstuck demo                       a whole night in a minute, no key, no network
  unstuck explain                    all codes, by category
  unstuck explain AUTH_EXPIRED       one of them, in full
  make 2>&1 | unstuck classify       name the failure in a program's output";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unstuck explain                    all codes, by category
  unstuck explain git-conflict       letter case and `-` do not matter
  unstuck explain --json             the whole table, for a program

A name that is no code ends with exit code 2 and the nearest names.";

const CLASSIFY_EXAMPLES: &str = "\
Examples:
  cargo test 2>&1 | unstuck classify
  unstuck classify build.log --json
  unstuck classify --signature-only < errors.jsonl | sort | uniq -c";

const DEMO_EXAMPLES: &str = "\
Examples:
  unstuck demo                       answer its question yourself
  unstuck demo --auto                let the recommended answer be taken
  unstuck demo --auto --seed 11      the same night with other chances";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(unstuck completions bash)
  unstuck completions fish > ~/.config/fish/completions/unstuck.fish";

/// Reads the command line; on a mistake, `--help` or `--version` it answers and ends the process.
pub(crate) fn parse() -> Args {
    let given: Vec<OsString> = std::env::args_os().collect();
    let matches = command(color(&given)).get_matches_from(given);
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The command line as a value, for help and completions.
pub(crate) fn command(color: ColorChoice) -> clap::Command {
    let exit_codes = format!("{EXAMPLES}\n\nExit codes:\n{}", exit::section());
    Args::command().after_long_help(exit_codes).color(color)
}

/// Help and errors are written before the arguments are understood, so this flag is looked up
/// beforehand.
fn color(given: &[OsString]) -> ColorChoice {
    let plain =
        given.iter().take_while(|arg| *arg != "--").any(|arg| arg == OsStr::new("--no-color"));
    if plain { ColorChoice::Never } else { ColorChoice::Auto }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command(ColorChoice::Never).debug_assert();
    }
}
