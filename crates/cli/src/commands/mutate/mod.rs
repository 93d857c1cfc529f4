//! `unstuck mutate`: performs an irreversible action once.

mod action;
mod inside;
mod outside;
mod wait;
mod wanted;

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use unstuck_runner::{ActionResult, DecideError, ResultFiles};
use unstuck_world::process::guard;

use crate::args::MutateArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::once::{ActionWait, Hindrance};
use crate::project::{self, EnclosingRun, LocalProject};
use crate::render;
use action::CommandAction;
use inside::MutateOutcome;

/// Performs the action for the run around this process, or for the project itself.
pub(crate) fn run(args: &MutateArgs, dir: Option<&Path>) -> Result<Exit, CliError> {
    // Before there is a second thread, and before this process has grown.
    let forked = guard::fork_guard();
    let child = EnclosingRun::from_environment();
    let root = child.as_ref().and_then(EnclosingRun::project_root);
    let project = LocalProject::find(root.or(dir))?;
    project::create_runtime()?.block_on(async {
        let action = Arc::new(CommandAction::new(args, &project, dir, forked)?);
        let spec = wanted::action_spec(args, child.is_none(), &project)?;
        let patience = ActionWait::default();
        let came = match &child {
            Some(child) => {
                let settling =
                    inside::settle_inside((args, &project), child, spec, &action, &patience);
                // A child of a run cannot see the reason of the wait.
                let hindrance = || (!action.is_running()).then_some(Hindrance::Unsettled);
                wait::follow_settling(settling, hindrance, &patience, args).await?
            }
            None => {
                let settling = outside::settle_outside(&project, spec, &action, &patience);
                wait::follow_settling(settling, || patience.hindrance(), &patience, args).await?
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
                Ok(wait::report_given_up(hindrance, args))
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
