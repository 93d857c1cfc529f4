//! The command line: every verb, its help and completions, and the call of the verb.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args as _, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::commands::classify::ClassifyArgs;
use crate::commands::clean::CleanArgs;
use crate::commands::config::{ConfigArgs, SchemaArgs};
use crate::commands::control::{CancelArgs, PauseArgs};
use crate::commands::demo::DemoArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::drill::DrillArgs;
use crate::commands::exec::ExecArgs;
use crate::commands::explain::ExplainArgs;
use crate::commands::fail::FailArgs;
use crate::commands::forget::ForgetArgs;
use crate::commands::inbox::InboxArgs;
use crate::commands::init::InitArgs;
use crate::commands::jobs::JobsArgs;
use crate::commands::land::LandArgs;
use crate::commands::log::LogArgs;
use crate::commands::mcp::McpArgs;
use crate::commands::mutate::MutateArgs;
use crate::commands::notify::NotifyArgs;
use crate::commands::report::ReportArgs;
use crate::commands::run::{ResumeArgs, RunArgs};
use crate::commands::serve::ServeArgs;
use crate::commands::status::StatusArgs;
use crate::commands::store::StoreArgs;
use crate::commands::task_control::{KickArgs, RetryArgs, SkipArgs};
use crate::commands::token::TokenArgs;
use crate::commands::why::WhyArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::project;
use crate::render::Terminal;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "unstuck",
    version,
    about = "Runs AI agents unattended and gets them unstuck",
    long_about = "Runs AI agents unattended and gets them unstuck.\n\n\
        Every failure gets one of a closed set of codes, and the code alone decides what happens \
        next: wait, try a different approach, or ask a person. `exec` keeps a command alive that \
        way; `inbox` shows the open questions; `status`, `log` and `why` show what happened and \
        why. `classify` gives the output of any program its code and the signature that recognises \
        the same error again, and `explain` describes a code.",
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
    /// Run as if started in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true, display_order = 899)]
    pub(crate) dir: Option<PathBuf>,

    /// Disable colours, as `NO_COLOR` does
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
  unstuck inbox                      answer open questions
  unstuck report                     the result of the newest build
  unstuck demo                       a whole night in a minute, without a key or network
  unstuck explain                    list all codes by category
  unstuck explain AUTH_EXPIRED       explain one code
  make 2>&1 | unstuck classify       classify a program's output";

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

pub(crate) fn run_command(args: CliArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let context = CommandContext { dir: args.globals.dir.as_deref(), terminal };
    if needs_project(&args.command) {
        project::require_descriptors()?;
    }
    match args.command {
        CliCommand::Init(args) => commands::init::run(&args, context),
        CliCommand::Doctor(args) => commands::doctor::run(&args, context),
        CliCommand::Run(args) => commands::run::run(&args, context),
        CliCommand::Resume(args) => commands::run::resume(&args, context),
        CliCommand::Exec(args) => commands::exec::run(args, context.dir),
        CliCommand::Mutate(args) => commands::mutate::run(&args, context.dir),
        CliCommand::Fail(args) => commands::fail::run(&args),
        CliCommand::Jobs(args) => commands::jobs::run(&args, context),
        CliCommand::Inbox(args) => commands::inbox::run(&args, context),
        CliCommand::Serve(args) => commands::serve::run(&args, context),
        CliCommand::Status(args) => commands::status::run(&args, context),
        CliCommand::Log(args) => commands::log::run(&args, context),
        CliCommand::Why(args) => commands::why::run(&args, context),
        CliCommand::Pause(args) => commands::control::pause(&args, context),
        CliCommand::Cancel(args) => commands::control::cancel(&args, context),
        CliCommand::Kick(args) => commands::task_control::kick(&args, context),
        CliCommand::Retry(args) => commands::task_control::retry(&args, context),
        CliCommand::Skip(args) => commands::task_control::skip(&args, context),
        CliCommand::Land(args) => commands::land::run(&args, context),
        CliCommand::Clean(args) => commands::clean::run(&args, context),
        CliCommand::Report(args) => commands::report::run(&args, context),
        CliCommand::Forget(args) => commands::forget::run(&args, context),
        CliCommand::Config(args) => commands::config::run(&args, context),
        CliCommand::Notify(args) => commands::notify::run(&args, context),
        CliCommand::Token(args) => commands::token::run(&args, terminal),
        CliCommand::Store(args) => commands::store::run(&args, context),
        CliCommand::Schema(args) => commands::config::write_schema(&args, terminal),
        CliCommand::Explain(args) => commands::explain::run(&args, terminal),
        CliCommand::Classify(args) => commands::classify::run(&args, terminal),
        CliCommand::Drill(args) => commands::drill::run(&args, terminal),
        CliCommand::Mcp(_) => commands::mcp::run(context.dir),
        CliCommand::Demo(args) => commands::demo::run(&args, terminal),
        CliCommand::Completions(args) => write_completions(&args, terminal),
    }
}

/// Returns whether a command opens more files than its input and output.
const fn needs_project(command: &CliCommand) -> bool {
    !matches!(
        command,
        CliCommand::Schema(_)
            | CliCommand::Explain(_)
            | CliCommand::Classify(_)
            | CliCommand::Completions(_)
    )
}

/// Whether a program reads what is said: every verb that writes JSON has the flag under this name.
pub(crate) fn wants_json() -> bool {
    std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// The command line as a value, for help and completions.
fn build_clap_command(color: ColorChoice) -> clap::Command {
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

/// Generate a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(unstuck completions bash)
  unstuck completions fish > ~/.config/fish/completions/unstuck.fish";

fn write_completions(args: &CompletionsArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    // Written to memory first: the generator cannot report a closed pipe.
    let mut script = Vec::new();
    let mut command = build_clap_command(ColorChoice::Never);
    clap_complete::generate(args.shell, &mut command, "unstuck", &mut script);
    let mut out = terminal.plain();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

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

    /// Returns the commands between backticks in a source: `unstuck …`.
    fn find_hinted_commands(source: &str) -> impl Iterator<Item = &str> {
        source.match_indices("`unstuck ").filter_map(|(at, _)| {
            let rest = &source[at + 1..];
            let line = rest.lines().next()?;
            line.split_once('`').map(|(command, _)| command)
        })
    }

    /// Returns why a hinted command is none of the command line: a verb or an option that does not exist.
    fn find_hint_mistake(hint: &str) -> Option<String> {
        let mut verb = build_clap_command(ColorChoice::Never);
        verb.build();
        for word in hint.split_whitespace().skip(1).take_while(|word| *word != "--") {
            if let Some(option) = word.strip_prefix("--") {
                let name = option.split(['=', ' ']).next().unwrap_or_default();
                if !verb.get_arguments().any(|known| known.get_long() == Some(name)) {
                    return Some(format!("`{}` has no --{name}", verb.get_name()));
                }
            } else if let Some(below) = verb.find_subcommand(word) {
                verb = below.clone();
            } else if verb.is_subcommand_required_set() && is_verb(word) {
                return Some(format!("`{}` has no verb {word}", verb.get_name()));
            }
        }
        None
    }

    /// Returns whether a word of a hint is literal and not a placeholder.
    fn is_verb(word: &str) -> bool {
        word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    }

    #[test]
    fn every_hinted_command_exists() {
        assert!(find_hint_mistake("unstuck answer q0 continue").is_some());
        assert!(find_hint_mistake("unstuck land b0 --megre").is_some());
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut wrong = Vec::new();
        let mut folders = vec![crates.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = path.extension().and_then(OsStr::to_str);
                if path.is_dir() && !path.ends_with("tests") {
                    folders.push(path);
                } else if matches!(kind, Some("rs" | "html" | "md")) && !path.ends_with(file!()) {
                    let source = fs::read_to_string(&path).unwrap();
                    let hints = find_hinted_commands(&source);
                    let mistakes = hints.filter_map(|hint| Some((hint, find_hint_mistake(hint)?)));
                    wrong
                        .extend(mistakes.map(|mistake| format!("{}: {mistake:?}", path.display())));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_command_line_is_consistent() {
        build_clap_command(ColorChoice::Never).debug_assert();
    }
}
