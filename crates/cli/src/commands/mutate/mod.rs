//! `unstuck mutate`: performs an irreversible action once.

mod action;
mod settle;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use unstuck_core::time::Span;
use unstuck_runner::{ActionResult, DecideError, ResultFiles};
use unstuck_world::process::guard;

use self::action::CommandAction;
use self::settle::MutateOutcome;
use crate::args::{parse_span, parse_time_limit};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::once::{ActionWait, Hindrance};
use crate::project::{self, EnclosingRun, EndSignals, LocalProject};
use crate::render;

/// Perform an irreversible action once
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command with an irreversible effect: charge a card, send a mail, publish \
        a version. The same key is never performed twice: a second call returns the first result \
        and runs nothing.\n\n\
        The action is recorded on disk before it happens. If the command is killed, takes too long \
        or ends with any status but 0, it may have gone through all the same: then the probe \
        checks, and if there is none or it cannot tell, you are asked, and nothing is repeated \
        until you have answered. If an exit status proves that nothing was done, declare it with \
        --not-done.\n\n\
        The output is the result, from now or from the first time. A key is used up for good, in \
        the whole project: `charge-$order` charges each order once, however often the script runs. \
        For an action that happens once in every firing of a job, use --scope firing. Inside an \
        agent's shell the action is declared, and performed once after the checks of its task. The \
        command finds an idempotency key in UNSTUCK_IDEMPOTENCY_KEY, the same one whenever this \
        action is sent: pass it on if the other side accepts one.",
    after_long_help = MUTATE_EXAMPLES
)]
pub(crate) struct MutateArgs {
    /// The idempotency key: an action with the same key is performed once
    #[arg(long, value_name = "KEY")]
    key: String,

    /// The scope in which the key counts; default: the whole project
    #[arg(long, value_name = "SCOPE")]
    scope: Option<MutateKeyScope>,

    /// A shell command that checks whether the action happened: exit 0 if it did, 1 if it did not,
    /// anything else if it cannot tell; its output becomes the result
    #[arg(long, value_name = "COMMAND")]
    probe: Option<String>,

    /// Exit statuses that prove that it did not happen: 22,7. Without a probe, every other status
    /// but 0 leaves the outcome open, and you are asked
    #[arg(long, value_name = "STATUS", value_delimiter = ',',
          value_parser = clap::value_parser!(u8).range(1..))]
    not_done: Vec<u8>,

    /// How long after the call the action may still show up for the probe: 0, 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    settle: Option<Span>,

    /// End the command after this time: 90s, 10m. Its probe ends after a minute at most
    #[arg(long, value_name = "TIME", value_parser = parse_time_limit)]
    timeout: Option<Span>,

    /// Give up after this time if something else keeps the action from running or being settled:
    /// 30s, 5m. Its own run time does not count
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    max_wait: Option<Span>,

    /// Print only the result
    #[arg(short, long)]
    quiet: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How far a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum MutateKeyScope {
    /// One firing of a job with all its retries, or one task of an agent
    Firing,
    /// The whole project, for good
    Project,
}

const MUTATE_EXAMPLES: &str = "\
Examples:
  receipt=$(unstuck mutate --key charge-$order -- curl -fsS -d order=$order https://pay.example/charges)
  unstuck mutate --key invoice-2026-11 --probe './invoices has 2026-11' -- ./invoices send 2026-11
  unstuck mutate --key release-1.4 --timeout 5m --not-done 2 -- ./publish 1.4
  unstuck mutate --key nightly-mail --scope firing -- ./mail-the-team

Exit codes: those of the command; 0 when it was done before; 120 when a person has to say whether
it happened; 121 when it is refused: the key was used for something else, or a person skipped it;
75 when --max-wait has passed, or 4 when all jobs are paused.";

/// Performs the action for the run around this process, or for the project itself.
pub(crate) fn run(args: &MutateArgs, dir: Option<&Path>) -> Result<Exit, CliError> {
    // Before there is a second thread, and before this process has grown.
    let forked = guard::fork_guard();
    let child = EnclosingRun::from_environment();
    let root = child.as_ref().and_then(EnclosingRun::project_root);
    let project = LocalProject::find(root.or(dir))?;
    project::create_runtime()?.block_on(async {
        let action = Arc::new(CommandAction::new(args, &project, dir, forked)?);
        let spec = action::action_spec(args, child.is_none(), &project)?;
        let patience = ActionWait::default();
        if child.is_none() && !args.quiet {
            tokio::spawn(report_interruption(Arc::clone(&action), args.key.clone()));
        }
        let came = match &child {
            Some(child) => {
                let settling =
                    settle::settle_inside((args, &project), child, spec, &action, &patience);
                // A child of a run cannot see the reason of the wait.
                let hindrance = || (!action.is_running()).then_some(Hindrance::Unsettled);
                settle::follow_settling(settling, hindrance, &patience, args).await?
            }
            None => {
                let settling = settle::settle_outside(&project, spec, &action, &patience);
                settle::follow_settling(settling, || patience.hindrance(), &patience, args).await?
            }
        };
        match came {
            MutateOutcome::Settled(settled) => write_result(args, &project, &settled, &action),
            MutateOutcome::Declared(when) => write_for_agent(&format!(
                "{:?} is declared. Nothing has run yet: it runs {when}. Go on as if it were done, \
                 and do not run it yourself. It runs without the variables of your shell: those \
                 that it needs belong into the command (`-- env NAME=value …`).",
                args.key
            )),
            MutateOutcome::DoneBefore(result) => write_earlier_result(args, &project, result),
            MutateOutcome::GivenUp => {
                let hindrance = patience.hindrance().unwrap_or(Hindrance::Unsettled);
                Ok(settle::report_given_up(hindrance, args))
            }
        }
    })
}

/// Says what is left open when the command is ended from the keyboard or the terminal while its
/// action runs, and ends this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the wait for the command is abandoned at once, with the exit code of the signal"
)]
async fn report_interruption(action: Arc<CommandAction>, key: String) {
    let Ok(mut signals) = EndSignals::new() else { return };
    let ended = signals.next().await;
    if action.is_running() {
        render::write_note(&format!(
            "unstuck: {key:?} was interrupted, so it is unknown whether it happened. Run the same \
             command again: its probe looks it up, or you are asked."
        ));
    }
    std::process::exit(ended.to_exit().number().into());
}

/// Writes the result for an agent, which reads it in the output of its command.
fn write_for_agent(words: &str) -> Result<Exit, CliError> {
    let mut out = io::stdout();
    writeln!(out, "unstuck: {words}")?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Writes the recorded result of an action that was performed before.
fn write_earlier_result(
    args: &MutateArgs,
    project: &LocalProject,
    result: Option<Arc<str>>,
) -> Result<Exit, CliError> {
    let result = result.unwrap_or_default();
    // An agent cannot read the file of a long result.
    let result = ResultFiles::new(project.results_folder()).read_result(&result);
    let followed_by = match &result {
        Ok(result) if result.is_empty() => "",
        Ok(_) => " This is its result.",
        Err(_) => " Its result is too long to be shown here.",
    };
    render::write_note(&format!(
        "unstuck: {:?} was done before, so nothing is run.{followed_by} Another action needs \
         another key.",
        args.key
    ));
    io::stdout().write_all(&result.unwrap_or_default())?;
    io::stdout().flush()?;
    Ok(Exit::Done)
}

/// Reports the result, and returns the exit code.
fn write_result(
    args: &MutateArgs,
    project: &LocalProject,
    settled: &Result<ActionResult, DecideError>,
    action: &CommandAction,
) -> Result<Exit, CliError> {
    let key = &args.key;
    let say = |words: &str| {
        if !args.quiet {
            render::write_note(&format!("unstuck: {words}"));
        }
    };
    match settled {
        Ok(ActionResult::Applied(result)) => {
            let result = ResultFiles::new(project.results_folder()).read_result(result);
            let result = result.map_err(CliError::unusable(&project.results_folder()))?;
            io::stdout().write_all(&result)?;
            io::stdout().flush()?;
            Ok(Exit::Done)
        }
        Ok(ActionResult::Failed(fault)) => {
            io::stdout().write_all(&action.output())?;
            let why = action.describe_end().unwrap_or_else(|| fault.message.clone());
            say(&format!("{key:?} did not happen: {why}"));
            Ok(action.exit_status().map_or_else(|| Exit::from_code(fault.code()), Exit::Command))
        }
        Ok(ActionResult::Skipped) => {
            say(&format!("it was decided to leave {key:?} out"));
            Ok(Exit::Refused)
        }
        Ok(ActionResult::NeedsPerson) => {
            let ended =
                action.describe_end().map_or_else(String::new, |ended| format!("{ended}. "));
            say(&format!(
                "{ended}It is unknown whether {key:?} happened. Find out, answer with `unstuck \
                 inbox`, then run this command again."
            ));
            Ok(Exit::Unsure)
        }
        Err(DecideError::KeyReused(_)) => {
            say(&format!(
                "the key {key:?} belongs to an action with another command, so nothing was run. \
                 `unstuck log` shows that action. If this is the same one, use its command; only \
                 another action needs another key."
            ));
            Ok(Exit::Refused)
        }
        Err(DecideError::Refused(why) | DecideError::RequestReused(why)) => {
            say(&format!("{key:?} was not run: {why}"));
            Ok(Exit::Refused)
        }
        Err(DecideError::Stale) => {
            say(&format!("{key:?} was not run: the run around it has ended"));
            Ok(Exit::Refused)
        }
        Err(DecideError::Store(fault)) => Err(CliError::Fault(fault.clone())),
        Err(DecideError::Ended) => {
            say("the process that held the project is gone; run it again to see what became of it");
            Ok(Exit::Limited)
        }
    }
}
