//! `unstuck exec`: keeps one command alive.
//!
//! The command is a job with one firing. A firing that did not end, because a person is needed or a process
//! died, is continued by the next `exec` of the same name.

mod job;
mod repair;
mod tell;
mod wait;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::time::Span;
use unstuck_runner::{ResultFiles, ScriptCommand, ScriptPerformer};
use unstuck_world::process::guard::{self, ForkedGuard};
use unstuck_world::process::{GuardCommand, IdleGuard, OwnInput};
use unstuck_world::redact::Redactor;

pub(super) use self::job::JobFollower;
pub(crate) use self::repair::JobRepair;
use self::repair::command_name;
pub(crate) use self::tell::{JobReporter, MessageFormat};
pub(crate) use self::wait::{JobEnding, follow_until_end};
use crate::args::{parse_span, parse_time_limit};
use crate::error::{CliError, ScriptError};
use crate::exit::Exit;
use crate::project::{self, LocalProject, project_redactor};
use crate::settings::ScriptPhase;

/// Run a command and keep it alive: wait, retry, or ask you
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command and keeps it alive. When it fails, the failure gets a code: from \
        its exit status, its signal, a timeout, or its output. A temporary failure is waited out \
        and retried, up to five times; one that needs a person becomes a question in the inbox, \
        and the command continues after the answer.\n\n\
        If the command's own code is broken and the settings name an agent, the agent repairs the \
        files of the project that the command names, in a worktree. A repair that passes the \
        checks is committed to your branch, and the command runs again.\n\n\
        The output of the command passes through unchanged; messages of Unstuck go to standard \
        error. Every step is recorded on disk before it happens: after a crash, the same command \
        continues where it was.",
    after_long_help = EXEC_EXAMPLES
)]
pub(crate) struct ExecArgs {
    /// The name of the job; default: the command itself
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,

    /// End the command after this time and try again: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time_limit)]
    timeout: Option<Span>,

    /// The phase of the command: one that reads or decides must not perform irreversible actions
    #[arg(long, value_name = "PHASE")]
    phase: Option<ScriptPhase>,

    /// Stop waiting for an answer or a limited service after this time; 0 does not wait at all
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    max_wait: Option<Span>,

    /// What to do when the command's own code is broken
    #[arg(
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "commit"
    )]
    repair: Option<RepairModeArg>,

    /// Exit with the last exit status of the command itself
    #[arg(long)]
    passthrough: bool,

    /// Print only errors and questions
    #[arg(short, long)]
    quiet: bool,

    /// Write events to standard error, one JSON object per line
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What becomes of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RepairModeArg {
    /// Repair it, check the repair, commit it and continue
    Commit,
    /// Put the repair on a branch and ask
    Propose,
    /// Ask without a repair
    Off,
}

const EXEC_EXAMPLES: &str = "\
Examples:
  unstuck exec -- ./backup.sh
  unstuck exec --name nightly --timeout 2h -- make publish
  unstuck exec --max-wait 0 -- ./sync      from cron: do not wait for a person
  unstuck exec --repair=propose -- ./sync  put a repair on a branch and ask

Exit codes: 0 when it succeeded in the end; 3 when a person is needed and --max-wait has passed;
1 when it was skipped; 70, 75, 77 and 78 as `unstuck --help` says.";

pub(crate) fn run(args: ExecArgs, dir: Option<&Path>) -> Result<Exit, CliError> {
    // Before there is a second thread, and before this process has grown.
    let input = OwnInput::from_this_process();
    // A pipe is read here and passed on, so the command needs another standard input than that of a fork.
    let forked = if input.is_passed_on() { None } else { guard::fork_guard() };
    let project = LocalProject::find(dir)?;
    if args.command.first().is_none_or(|program| program.is_empty()) {
        return Err(CliError::NotNow {
            verb: "exec",
            said: "the name of the command is empty".to_owned(),
            hint: "write the command after `--`; a variable in its place may not be set".to_owned(),
        });
    }
    project::create_runtime()?.block_on(keep_command_alive(args, &project, dir, (input, forked)))
}

/// Formats the call that runs the same command again, with the options that decide how it is performed.
fn render_command_line(args: &ExecArgs, dir: Option<&Path>) -> String {
    let mut words = vec!["unstuck".to_owned()];
    if let Some(dir) = dir {
        words.extend(["-C".to_owned(), quote_word(&dir.to_string_lossy())]);
    }
    words.push("exec".to_owned());
    let timeout = args.timeout.map(|limit| format!("{}s", limit.as_millis().div_ceil(1_000)));
    let phase = args.phase.as_ref().and_then(render_value);
    for (option, value) in
        [("--name", args.name.clone()), ("--timeout", timeout), ("--phase", phase)]
    {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), quote_word(&value)]));
    }
    words.extend(args.repair.as_ref().and_then(render_value).map(|how| format!("--repair={how}")));
    words.extend(args.passthrough.then(|| "--passthrough".to_owned()));
    words.push("--".to_owned());
    words.extend(args.command.iter().map(|word| quote_word(&word.to_string_lossy())));
    words.join(" ")
}

/// Returns the word of the command line for a value.
fn render_value(value: &impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|word| word.get_name().to_owned())
}

/// Quotes a word for a shell if it needs quotes.
fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

async fn keep_command_alive(
    args: ExecArgs,
    project: &LocalProject,
    dir: Option<&Path>,
    (input, forked): (OwnInput, Option<ForkedGuard>),
) -> Result<Exit, CliError> {
    let guard = project::own_guard()?;
    let ahead = (!input.is_passed_on()).then(|| IdleGuard::start_ahead(forked, &guard)).flatten();
    let redactor = project_redactor(project);
    let name = args.name.clone().unwrap_or_else(|| command_name(&args.command));
    // The name is stored and shown, and a command line may contain a secret.
    let name = redactor.redact_text(&name).into_owned();
    let again = redactor.redact_text(&render_command_line(&args, dir)).into_owned();
    refuse_defined(project, &name)?;
    let store = project.open_or_create_store()?;
    let repair =
        JobRepair::for_command(&args, project, dir, (job_spec(&name, args.phase), &guard)).await?;
    let world = ScriptPerformer::new(
        create_script(&args, guard, (project, redactor), (dir, input))?,
        ahead,
    );
    let teller =
        JobReporter::new(MessageFormat::new(args.json, args.quiet), Arc::clone(&store), project)
            .for_command(&again);
    let job =
        JobFollower { project, store: &store, repair: &repair, world: &world, teller: &teller };
    let ending = match job.follow_until_stopped(args.max_wait).await? {
        Ok(ending) => ending,
        Err(at_once) => return Ok(at_once.to_exit()),
    };
    let lost = world.lost_output();
    if let Some(reason) = &lost {
        JobReporter::report_lost_output(reason);
    }
    Ok(match (args.passthrough, world.last_status()) {
        _ if lost.is_some() && ending == JobEnding::Done => Exit::SomeFailed,
        (true, Some(status)) => Exit::Command(u8::try_from(status).unwrap_or(u8::MAX)),
        _ => ending.to_exit(),
    })
}

fn job_spec(name: &str, phase: Option<ScriptPhase>) -> TaskSpec {
    let (program, arguments) = name.split_at(name.find(' ').unwrap_or(name.len()));
    let file = Path::new(program).file_name();
    let title = file.map_or(program.into(), |file| file.to_string_lossy()) + arguments;
    let title = title.into_owned();
    let goal = name.to_owned();
    let name = name.to_owned();
    let phase = phase.map(Into::into);
    let job = Some(JobSpec::default());
    TaskSpec { name, title, goal, phase, job, ..TaskSpec::default() }
}

fn create_script(
    args: &ExecArgs,
    guard: GuardCommand,
    (project, redactor): (&LocalProject, Arc<Redactor>),
    (dir, input): (Option<&Path>, OwnInput),
) -> Result<ScriptCommand, CliError> {
    let (program, arguments) = args.command.split_first().ok_or(ScriptError::NoCommand)?;
    let here = dir.unwrap_or(Path::new("."));
    let directory = std::path::absolute(here).map_err(CliError::unusable(here))?;
    Ok(ScriptCommand {
        guard,
        runs: project.runs_folder(),
        program: program.clone(),
        arguments: arguments.to_vec(),
        directory,
        input,
        timeout: args.timeout.map(Into::into),
        socket: project.socket_path(),
        key: project.open_token_key()?,
        results: ResultFiles::new(project.results_folder()),
        redactor,
    })
}

/// Refuses a name from the settings: such a job defines its own command, and a watcher may be performing
/// it.
fn refuse_defined(project: &LocalProject, name: &str) -> Result<(), CliError> {
    let settings = project.settings()?;
    if !settings.settings.job.iter().any(|job| job.name.as_str() == name) {
        return Ok(());
    }
    Err(CliError::NotNow {
        verb: "exec",
        said: format!("{name} is a job of the settings"),
        hint: format!("`unstuck jobs run {name}` runs it; --name gives this another name"),
    })
}
