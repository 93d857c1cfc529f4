//! The command line: every verb, flag and help text.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use unstuck_core::engine::{QuestionId, RunId};
use unstuck_core::time::Span;

use crate::exit;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "unstuck",
    version,
    about = "Runs AI agents unattended and gets them unstuck",
    long_about = "Runs AI agents unattended and gets them unstuck.\n\n\
        Every failure gets one of a closed set of codes, and the code alone decides what happens \
        next: wait, try a different approach, or ask a person. `exec` keeps a command alive that \
        way, `inbox` shows what waits for you, `status`, `log` and `why` what happened and why. \
        `classify` gives the output of any program its code and the signature that recognises \
        the same error again, and `explain` says what a code means.",
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

    /// Work as if started in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true, display_order = 899)]
    pub(crate) dir: Option<PathBuf>,

    /// Write without colours, as with `NO_COLOR` set
    #[arg(long, global = true, display_order = 900)]
    pub(crate) no_color: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Exec(Exec),
    Inbox(Inbox),
    Status(Status),
    Log(Log),
    Why(Why),
    Forget(Forget),
    Explain(Explain),
    Classify(Classify),
    Demo(Demo),
    Completions(Completions),
}

/// Keep a command alive: wait out what passes, ask about what does not
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command and keeps it alive. When it fails, the failure gets a code: by its \
        exit status, its signal, a timeout, or what it wrote. What passes by itself is waited out \
        and tried again, up to five times; what needs a person becomes one question in the inbox, \
        and the command goes on after the answer.\n\n\
        Its output passes through unchanged; what Unstuck has to say goes to standard error. \
        Everything is on disk before it happens: after a crash, the same command takes up where \
        it was.",
    after_long_help = EXEC_EXAMPLES
)]
pub(crate) struct Exec {
    /// What to call it; the command itself without this
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// End it when it takes longer, and try again: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) timeout: Option<Span>,

    /// Give up waiting for a person after this long; 0 does not wait at all
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) max_wait: Option<Span>,

    /// End with the last exit status of the command itself
    #[arg(long)]
    pub(crate) passthrough: bool,

    /// Say nothing but errors and questions
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// See and answer the questions that wait for you
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lists the questions that wait for a person, shows one, or answers one. It works \
        while something runs and while nothing does: an answer given now is taken up at once, or \
        at the next start.",
    after_long_help = INBOX_EXAMPLES
)]
pub(crate) struct Inbox {
    /// What to do; lists the open questions without it
    #[command(subcommand)]
    pub(crate) command: Option<InboxCommand>,

    /// Write JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What can be done with questions.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List the open questions
    List {
        /// Those that are answered or withdrawn too
        #[arg(long)]
        all: bool,
    },
    /// Show one question in full
    Show {
        /// Its number, such as `3` or `q3`
        #[arg(value_parser = question)]
        question: QuestionId,
    },
    /// Answer a question
    Answer {
        /// Its number, such as `3` or `q3`
        #[arg(value_parser = question)]
        question: QuestionId,
        /// One of its choices
        decision: String,
        /// What you want to tell the agent
        #[arg(long, value_name = "TEXT")]
        guidance: Option<String>,
    },
    /// Have it looked up again whether an action happened
    Check {
        /// Its number, such as `3` or `q3`
        #[arg(value_parser = question)]
        question: QuestionId,
    },
}

/// Show where everything stands
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what happened, and what happens
#[derive(Debug, clap::Args)]
#[command(after_long_help = LOG_EXAMPLES)]
pub(crate) struct Log {
    /// Go on as things happen
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// How many of the latest events to begin with
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) lines: u32,

    /// Only events after this position
    #[arg(long, value_name = "SEQ", conflicts_with = "lines")]
    pub(crate) after: Option<u64>,

    /// Write each event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say why a run was decided upon as it was
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// The run, such as `12` or `r12`; `unstuck status` shows them
    #[arg(value_parser = run)]
    pub(crate) run: RunId,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Forget the tries of an error, so that it starts with a clean slate
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORGET_EXAMPLES)]
pub(crate) struct Forget {
    /// The error, as `unstuck status` names it
    #[arg(value_name = "SIGNATURE", required_unless_present = "all")]
    pub(crate) signature: Option<String>,

    /// All errors of the project
    #[arg(long, conflicts_with = "signature")]
    pub(crate) all: bool,
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
    long_about = "Plays one night of six tasks on the real loop, a real store and a real repository, \
        in virtual time: checks that are red, an account that is limited, a change outside the \
        fence, a lost connection during a push, a killed program, and a question for you. The \
        agents follow a script; git, the checks and every decision are real. Nothing is sent, and what \
        is written is removed at the end. If you kill it, the next `unstuck demo` goes on.\n\n\
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

/// Write the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

const EXAMPLES: &str = "\
Examples:
  unstuck exec -- ./backup.sh        keep a script alive
  unstuck inbox                      what waits for you
  unstuck demo                       a whole night in a minute, no key, no network
  unstuck explain                    all codes, by category
  unstuck explain AUTH_EXPIRED       one of them, in full
  make 2>&1 | unstuck classify       name the failure in a program's output";

const EXEC_EXAMPLES: &str = "\
Examples:
  unstuck exec -- ./backup.sh
  unstuck exec --name nightly --timeout 2h -- make publish
  unstuck exec --max-wait 0 -- ./sync      from cron: do not wait for a person

Exit codes: 0 when it succeeded in the end; 3 when a person is needed and --max-wait is over;
1 when it was left out; 70, 75, 77, 78 and 124 as `unstuck --help` says.";

const INBOX_EXAMPLES: &str = "\
Examples:
  unstuck inbox
  unstuck inbox show 3
  unstuck inbox answer 3 provide_credentials
  unstuck inbox answer 4 provide_guidance --guidance 'use the test account'";

const LOG_EXAMPLES: &str = "\
Examples:
  unstuck log -n 20                  the last twenty events, in plain words
  unstuck log -f                     go on as things happen
  unstuck log --json --after 1200    for a program, from a position on";

const FORGET_EXAMPLES: &str = "\
Examples:
  unstuck forget LOGIC_ERROR:3f2a9c0d11e4
  unstuck forget --all";

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

/// A length of time: a number with `s`, `m`, `h` or `d`; without one, seconds.
fn span(text: &str) -> Result<Span, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err("write a number with s, m, h or d, such as 90s or 2h".to_owned()),
    };
    let number: u64 = text[..text.len() - unit.len()]
        .parse()
        .map_err(|_| "write a number with s, m, h or d, such as 90s or 2h".to_owned())?;
    Ok(Span::from_secs(number.saturating_mul(seconds)))
}

fn question(text: &str) -> Result<QuestionId, String> {
    number(text, 'q').map(QuestionId)
}

fn run(text: &str) -> Result<RunId, String> {
    number(text, 'r').map(RunId)
}

/// A number, with or without the letter that says of what.
fn number<N: FromStr>(text: &str, letter: char) -> Result<N, String> {
    let digits = text.strip_prefix(letter).unwrap_or(text);
    digits.parse().map_err(|_| format!("write its number, such as 3 or {letter}3"))
}

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
