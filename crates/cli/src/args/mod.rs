//! The command line: every verb, flag and help text, one file per verb.

mod cancel;
mod classify;
mod clean;
mod completions;
mod config;
mod demo;
mod doctor;
mod drill;
mod exec;
mod explain;
mod fail;
mod forget;
mod inbox;
mod init;
mod jobs;
mod kick;
mod land;
mod log;
mod mcp;
mod mutate;
mod notify;
mod pause;
mod report;
mod retry;
mod run;
mod serve;
mod skip;
mod status;
mod store;
mod token;
mod value;
mod why;

pub(crate) use cancel::Cancel;
pub(crate) use classify::Classify;
pub(crate) use clean::Clean;
pub(crate) use completions::Completions;
pub(crate) use config::{Config, Schema, SchemaOf};
pub(crate) use demo::Demo;
pub(crate) use doctor::Doctor;
pub(crate) use drill::Drill;
pub(crate) use exec::{Exec, Repair};
pub(crate) use explain::Explain;
pub(crate) use fail::Fail;
pub(crate) use forget::Forget;
pub(crate) use inbox::{Inbox, InboxCommand};
pub(crate) use init::Init;
pub(crate) use jobs::{AddJob, Jobs, JobsCommand};
pub(crate) use kick::Kick;
pub(crate) use land::Land;
pub(crate) use log::Log;
pub(crate) use mcp::Mcp;
pub(crate) use mutate::{KeyScope, Mutate};
pub(crate) use notify::{Notify, NotifyCommand};
pub(crate) use pause::Pause;
pub(crate) use report::Report;
pub(crate) use retry::Retry;
pub(crate) use run::{Follow, Resume, Run};
pub(crate) use serve::Serve;
pub(crate) use skip::Skip;
pub(crate) use status::Status;
pub(crate) use store::{Store, StoreCommand};
pub(crate) use token::{MakeToken, Token, TokenCommand, TokenRole};
pub(crate) use why::Why;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Args as _, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

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

    #[command(flatten)]
    pub(crate) globals: Globals,
}

/// What every verb takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Globals {
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
    Init(Init),
    Doctor(Doctor),
    Run(Run),
    Resume(Resume),
    Exec(Exec),
    Mutate(Mutate),
    Fail(Fail),
    Jobs(Jobs),
    Inbox(Inbox),
    Serve(Serve),
    Status(Status),
    Log(Log),
    Why(Why),
    Pause(Pause),
    Cancel(Cancel),
    Kick(Kick),
    Retry(Retry),
    Skip(Skip),
    Land(Land),
    Clean(Clean),
    Report(Report),
    Forget(Forget),
    Config(Config),
    Schema(Schema),
    Notify(Notify),
    Token(Token),
    Store(Store),
    Explain(Explain),
    Classify(Classify),
    Drill(Drill),
    Mcp(Mcp),
    Demo(Demo),
    Completions(Completions),
}

const EXAMPLES: &str = "\
Examples:
  unstuck exec -- ./backup.sh        keep a script alive
  unstuck inbox                      what waits for you
  unstuck report                     what the night came to
  unstuck demo                       a whole night in a minute, no key, no network
  unstuck explain                    all codes, by category
  unstuck explain AUTH_EXPIRED       one of them, in full
  make 2>&1 | unstuck classify       name the failure in a program's output";

/// Reads the command line; on a mistake, `--help` or `--version` it answers and ends the process.
pub(crate) fn parse() -> Args {
    let given: Vec<OsString> = std::env::args_os().collect();
    if let Some(args) = quickly(&given) {
        return args;
    }
    let given = helped(given);
    let matches = command(color(&given)).get_matches_from(given);
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// `unstuck help VERB` asks for what `unstuck VERB --help` says, also for a verb of another one:
/// `unstuck help answer` is about `unstuck inbox answer`.
fn helped(given: Vec<OsString>) -> Vec<OsString> {
    let mut words = given.into_iter();
    let program = words.next();
    let first = words.next();
    if first.as_deref() != Some(OsStr::new("help")) {
        return program.into_iter().chain(first).chain(words).collect();
    }
    let rest: Vec<OsString> = words.collect();
    let parent = rest.first().and_then(|verb| parent_of(verb.to_str()?));
    let parent = parent.map(OsString::from);
    program.into_iter().chain(parent).chain(rest).chain([OsString::from("--help")]).collect()
}

/// The one verb that has this one below it, where it is no verb by itself.
fn parent_of(verb: &str) -> Option<String> {
    let all = Args::command();
    if all.find_subcommand(verb).is_some() {
        return None;
    }
    let mut parents = all.get_subcommands().filter(|parent| parent.find_subcommand(verb).is_some());
    let parent = parents.next()?.get_name().to_owned();
    parents.next().is_none().then_some(parent)
}

/// Reads one of the two verbs that scripts call again and again, without making all the others ready.
/// Whatever is wrong or asked about it is left to the whole command line.
fn quickly(given: &[OsString]) -> Option<Args> {
    let read = |verb: fn(clap::Command) -> clap::Command| {
        let bare = clap::Command::new("unstuck").no_binary_name(true).disable_help_flag(true);
        Globals::augment_args(verb(bare)).try_get_matches_from(given.iter().skip(2)).ok()
    };
    let (command, matches) = match given.get(1)?.to_str()? {
        "exec" => {
            let matches = read(Exec::augment_args)?;
            (Command::Exec(Exec::from_arg_matches(&matches).ok()?), matches)
        }
        "mutate" => {
            let matches = read(Mutate::augment_args)?;
            (Command::Mutate(Mutate::from_arg_matches(&matches).ok()?), matches)
        }
        _ => return None,
    };
    Some(Args { command, globals: Globals::from_arg_matches(&matches).ok()? })
}

/// Whether a program reads what is said: every verb that writes JSON has the flag under this name.
pub(crate) fn wants_json() -> bool {
    std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json")
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
    fn help_may_come_before_the_verb() {
        let helped = |words: &[&str]| helped(words.iter().map(OsString::from).collect());
        assert_eq!(helped(&["unstuck", "help", "run"]), ["unstuck", "run", "--help"]);
        assert_eq!(helped(&["unstuck", "help"]), ["unstuck", "--help"]);
        let answer = ["unstuck", "inbox", "answer", "--help"];
        assert_eq!(helped(&["unstuck", "help", "answer"]), answer);
        assert_eq!(helped(&["unstuck", "run", "help"]), ["unstuck", "run", "help"]);
        assert_eq!(helped(&["unstuck"]), ["unstuck"]);
    }

    #[test]
    fn the_command_line_is_consistent() {
        command(ColorChoice::Never).debug_assert();
    }
}
