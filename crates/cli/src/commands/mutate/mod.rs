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
use crate::args::parse_span;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::once::{ActionWait, Hindrance};
use crate::project::{self, EnclosingRun, LocalProject};
use crate::render;

/// Do something that cannot be taken back, once
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command that does something which cannot be taken back: charge a card, \
        send a mail, publish a version. The same key is never performed twice: asking again \
        gives what came back the first time, and nothing is run.\n\n\
        What is about to happen is on disk before it happens. When the command is killed, takes too \
        long or ends with any status but 0, it may have got through all the same: then the probe \
        looks, and where there is none or it cannot tell, you are asked, and nothing is repeated \
        until you have said so. Where a status proves that nothing was done, declare it with \
        --not-done.\n\n\
        Its output is what came back, now or the first time. A key is used up for good, in the whole \
        project: `charge-$order` charges each order once, however often the script runs. Where an \
        action is to happen once in every firing of a job, say --scope firing. Inside an agent's \
        shell the action is declared, and happens once after the checks of its task. The command \
        finds a key of our own in UNSTUCK_IDEMPOTENCY_KEY, the same \
        whenever this action is sent: hand it on where the other side takes one.",
    after_long_help = MUTATE_EXAMPLES
)]
pub(crate) struct MutateArgs {
    /// What the action is called; the same key is performed once
    #[arg(long, value_name = "KEY")]
    key: String,

    /// How far the key counts: for good in the whole project, unless it says otherwise
    #[arg(long, value_name = "SCOPE")]
    scope: Option<MutateKeyScope>,

    /// A shell command that finds out whether it happened: 0 it did, 1 it did not, else it cannot
    /// tell; what it writes is then what came back
    #[arg(long, value_name = "COMMAND")]
    probe: Option<String>,

    /// The exit statuses that mean that it did not happen: 22,7. Without a probe, every status but 0
    /// leaves it open and you are asked
    #[arg(long, value_name = "STATUS", value_delimiter = ',',
          value_parser = clap::value_parser!(u8).range(1..))]
    not_done: Vec<u8>,

    /// How long after the call it may still appear, for the probe: 0, 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    settle: Option<Span>,

    /// End the command when it takes longer: 90s, 10m. So is its probe, after a minute at most
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    timeout: Option<Span>,

    /// Give up when something else keeps it from running or being settled for this long: 30s, 5m. Its
    /// own run time does not count
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    max_wait: Option<Span>,

    /// Say nothing but what came back
    #[arg(short, long)]
    quiet: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How far a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum MutateKeyScope {
    /// One firing of the job that it is in with all its retries, or one task of an agent
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
it happened; 121 when it is refused: the key was used for something else, or a person left it out;
75 when --max-wait is over, or 4 where all jobs are paused.";

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
                 and do not run it yourself.",
                args.key
            )),
            MutateOutcome::DoneBefore => write_for_agent(&format!(
                "{:?} was done before, so nothing is run. Another action needs another key.",
                args.key
            )),
            MutateOutcome::GivenUp => {
                let hindrance = patience.hindrance().unwrap_or(Hindrance::Unsettled);
                Ok(settle::report_given_up(hindrance, args))
            }
        }
    })
}

/// Writes the result for an agent, which reads it in the output of its command.
fn write_for_agent(words: &str) -> Result<Exit, CliError> {
    let mut out = io::stdout();
    writeln!(out, "unstuck: {words}")?;
    out.flush()?;
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
            let result = result.map_err(|source| CliError::Folder {
                place: project.results_folder().display().to_string(),
                source,
            })?;
            io::stdout().write_all(&result)?;
            io::stdout().flush()?;
            Ok(Exit::Done)
        }
        Ok(ActionResult::Failed(fault)) => {
            io::stdout().write_all(&action.output())?;
            if !action.has_run() {
                say(&format!("{key:?} did not happen: {}", fault.message));
            }
            Ok(action.exit_status().map_or_else(|| Exit::from_code(fault.code()), Exit::Command))
        }
        Ok(ActionResult::Skipped) => {
            say(&format!("it was decided to leave {key:?} out"));
            Ok(Exit::Refused)
        }
        Ok(ActionResult::NeedsPerson) => {
            let ended = match action.exit_status() {
                Some(status) if action.has_run() => format!("the command ended with {status}. "),
                _ => String::new(),
            };
            say(&format!(
                "{ended}{key:?} may have happened all the same. `unstuck inbox` asks you; what you \
                 say counts when this is run again."
            ));
            Ok(Exit::Unsure)
        }
        Err(DecideError::KeyReused(_)) => {
            say(&format!(
                "the key {key:?} was used for another command. Nothing was run; take another key."
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
