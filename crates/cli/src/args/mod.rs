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

pub(crate) use cancel::CancelArgs;
pub(crate) use classify::ClassifyArgs;
pub(crate) use clean::CleanArgs;
pub(crate) use completions::CompletionsArgs;
pub(crate) use config::{ConfigArgs, SchemaArgs, SchemaSubject};
pub(crate) use demo::DemoArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use drill::DrillArgs;
pub(crate) use exec::{ExecArgs, RepairModeArg};
pub(crate) use explain::ExplainArgs;
pub(crate) use fail::FailArgs;
pub(crate) use forget::ForgetArgs;
pub(crate) use inbox::{InboxArgs, InboxCommand};
pub(crate) use init::InitArgs;
pub(crate) use jobs::{AddJobArgs, JobsArgs, JobsCommand};
pub(crate) use kick::KickArgs;
pub(crate) use land::LandArgs;
pub(crate) use log::LogArgs;
pub(crate) use mcp::McpArgs;
pub(crate) use mutate::{MutateArgs, MutateKeyScope};
pub(crate) use notify::{NotifyArgs, NotifyCommand};
pub(crate) use pause::PauseArgs;
pub(crate) use report::ReportArgs;
pub(crate) use retry::RetryArgs;
pub(crate) use run::{FollowArgs, ResumeArgs, RunArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use skip::SkipArgs;
pub(crate) use status::StatusArgs;
pub(crate) use store::{StoreArgs, StoreCommand};
pub(crate) use token::{MakeTokenArgs, TokenArgs, TokenCommand, TokenRoleArg};
pub(crate) use why::WhyArgs;

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
pub(crate) struct CliArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: CliCommand,

    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
}

/// What every verb takes.
#[derive(Debug, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Work as if started in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true, display_order = 899)]
    pub(crate) dir: Option<PathBuf>,

    /// Write without colours, as with `NO_COLOR` set
    #[arg(long, global = true, display_order = 900)]
    pub(crate) no_color: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Init(InitArgs),
    Doctor(DoctorArgs),
    Run(RunArgs),
    Resume(ResumeArgs),
    Exec(ExecArgs),
    Mutate(MutateArgs),
    Fail(FailArgs),
    Jobs(JobsArgs),
    Inbox(InboxArgs),
    Serve(ServeArgs),
    Status(StatusArgs),
    Log(LogArgs),
    Why(WhyArgs),
    Pause(PauseArgs),
    Cancel(CancelArgs),
    Kick(KickArgs),
    Retry(RetryArgs),
    Skip(SkipArgs),
    Land(LandArgs),
    Clean(CleanArgs),
    Report(ReportArgs),
    Forget(ForgetArgs),
    Config(ConfigArgs),
    Schema(SchemaArgs),
    Notify(NotifyArgs),
    Token(TokenArgs),
    Store(StoreArgs),
    Explain(ExplainArgs),
    Classify(ClassifyArgs),
    Drill(DrillArgs),
    Mcp(McpArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
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
pub(crate) fn parse_command_line() -> CliArgs {
    let given: Vec<OsString> = std::env::args_os().collect();
    if let Some(args) = parse_frequent_verb(&given) {
        return args;
    }
    let given = rewrite_help_verb(given);
    let matches = build_clap_command(choose_color(&given)).get_matches_from(given);
    CliArgs::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// `unstuck help VERB` asks for what `unstuck VERB --help` says, also for a verb of another one:
/// `unstuck help answer` is about `unstuck inbox answer`.
fn rewrite_help_verb(given: Vec<OsString>) -> Vec<OsString> {
    let mut words = given.into_iter();
    let program = words.next();
    let first = words.next();
    if first.as_deref() != Some(OsStr::new("help")) {
        return program.into_iter().chain(first).chain(words).collect();
    }
    let rest: Vec<OsString> = words.collect();
    let parent = rest.first().and_then(|verb| find_parent_verb(verb.to_str()?));
    let parent = parent.map(OsString::from);
    program.into_iter().chain(parent).chain(rest).chain([OsString::from("--help")]).collect()
}

/// The one verb that has this one below it, where it is no verb by itself.
fn find_parent_verb(verb: &str) -> Option<String> {
    let all = CliArgs::command();
    if all.find_subcommand(verb).is_some() {
        return None;
    }
    let mut parents = all.get_subcommands().filter(|parent| parent.find_subcommand(verb).is_some());
    let parent = parents.next()?.get_name().to_owned();
    parents.next().is_none().then_some(parent)
}

/// Reads one of the two verbs that scripts call again and again, without making all the others ready.
/// Whatever is wrong or asked about it is left to the whole command line.
fn parse_frequent_verb(given: &[OsString]) -> Option<CliArgs> {
    let read = |verb: fn(clap::Command) -> clap::Command| {
        let bare = clap::Command::new("unstuck").no_binary_name(true).disable_help_flag(true);
        GlobalArgs::augment_args(verb(bare)).try_get_matches_from(given.iter().skip(2)).ok()
    };
    let (command, matches) = match given.get(1)?.to_str()? {
        "exec" => {
            let matches = read(ExecArgs::augment_args)?;
            (CliCommand::Exec(ExecArgs::from_arg_matches(&matches).ok()?), matches)
        }
        "mutate" => {
            let matches = read(MutateArgs::augment_args)?;
            (CliCommand::Mutate(MutateArgs::from_arg_matches(&matches).ok()?), matches)
        }
        _ => return None,
    };
    Some(CliArgs { command, globals: GlobalArgs::from_arg_matches(&matches).ok()? })
}

/// Whether a program reads what is said: every verb that writes JSON has the flag under this name.
pub(crate) fn wants_json() -> bool {
    std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// The command line as a value, for help and completions.
pub(crate) fn build_clap_command(color: ColorChoice) -> clap::Command {
    let exit_codes = format!("{EXAMPLES}\n\nExit codes:\n{}", exit::render_exit_codes());
    CliArgs::command().after_long_help(exit_codes).color(color)
}

/// Help and errors are written before the arguments are understood, so this flag is looked up
/// beforehand.
fn choose_color(given: &[OsString]) -> ColorChoice {
    let plain =
        given.iter().take_while(|arg| *arg != "--").any(|arg| arg == OsStr::new("--no-color"));
    if plain { ColorChoice::Never } else { ColorChoice::Auto }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_may_come_before_the_verb() {
        let helped = |words: &[&str]| rewrite_help_verb(words.iter().map(OsString::from).collect());
        assert_eq!(helped(&["unstuck", "help", "run"]), ["unstuck", "run", "--help"]);
        assert_eq!(helped(&["unstuck", "help"]), ["unstuck", "--help"]);
        let answer = ["unstuck", "inbox", "answer", "--help"];
        assert_eq!(helped(&["unstuck", "help", "answer"]), answer);
        assert_eq!(helped(&["unstuck", "run", "help"]), ["unstuck", "run", "help"]);
        assert_eq!(helped(&["unstuck"]), ["unstuck"]);
    }

    #[test]
    fn the_command_line_is_consistent() {
        build_clap_command(ColorChoice::Never).debug_assert();
    }
}
