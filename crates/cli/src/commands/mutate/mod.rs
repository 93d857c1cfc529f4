//! `unstuck mutate`: performs an irreversible action once.

mod action;
mod inside;
mod outside;
mod wait;
mod wanted;

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use unstuck_runner::{Results, Settled, Undecided};
use unstuck_world::process::guard;

use crate::args::Mutate;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::once::{Hindrance, Patience};
use crate::project::{self, Child, Project};
use crate::render;
use action::CommandAction;
use inside::Came;

/// Performs the action for the run around this process, or for the project itself.
pub(crate) fn run(args: &Mutate, dir: Option<&Path>) -> Result<Exit, Error> {
    // Before there is a second thread, and before this process has grown.
    let forked = guard::fork();
    let child = Child::of_environment();
    let root = child.as_ref().and_then(Child::root);
    let project = Project::find(root.or(dir))?;
    project::runtime()?.block_on(async {
        let action = Arc::new(CommandAction::new(args, &project, dir, forked)?);
        let spec = wanted::spec(args, child.is_none(), &project)?;
        let patience = Patience::default();
        let came = match &child {
            Some(child) => {
                let settling = inside::settle((args, &project), child, spec, &action, &patience);
                // A child of a run cannot see the reason of the wait.
                let hindrance = || (!action.is_running()).then_some(Hindrance::Unsettled);
                wait::follow(settling, hindrance, &patience, args).await?
            }
            None => {
                let settling = outside::settle(&project, spec, &action, &patience);
                wait::follow(settling, || patience.hindrance(), &patience, args).await?
            }
        };
        match came {
            Came::Settled(settled) => tell(args, &project, &settled, &action),
            Came::Declared(when) => tell_agent(&format!(
                "{:?} is declared. Nothing has run yet: it runs {when}. Go on as if it were done, \
                 and do not run it yourself.",
                args.key
            )),
            Came::DoneBefore => tell_agent(&format!(
                "{:?} was done before, so nothing is run. Another action needs another key.",
                args.key
            )),
            Came::GivenUp => {
                let hindrance = patience.hindrance().unwrap_or(Hindrance::Unsettled);
                Ok(wait::tell_given_up(hindrance, args))
            }
        }
    })
}

/// Writes the result for an agent, which reads it in the output of its command.
fn tell_agent(words: &str) -> Result<Exit, Error> {
    let mut out = io::stdout();
    writeln!(out, "unstuck: {words}")?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Reports the result, and returns the exit code.
fn tell(
    args: &Mutate,
    project: &Project,
    settled: &Result<Settled, Undecided>,
    action: &CommandAction,
) -> Result<Exit, Error> {
    let key = &args.key;
    let say = |words: &str| {
        if !args.quiet {
            render::note(&format!("unstuck: {words}"));
        }
    };
    match settled {
        Ok(Settled::Applied(result)) => {
            let result = Results::new(project.results()).read(result);
            let result = result.map_err(|source| Error::Folder {
                place: project.results().display().to_string(),
                source,
            })?;
            io::stdout().write_all(&result)?;
            io::stdout().flush()?;
            Ok(Exit::Done)
        }
        Ok(Settled::Failed(fault)) => {
            io::stdout().write_all(&action.written())?;
            if !action.has_run() {
                say(&format!("{key:?} did not happen: {}", fault.message));
            }
            Ok(action.status().map_or_else(|| Exit::of(fault.code()), Exit::Command))
        }
        Ok(Settled::Skipped) => {
            say(&format!("it was decided to leave {key:?} out"));
            Ok(Exit::Refused)
        }
        Ok(Settled::NeedsPerson) => {
            let ended = match action.status() {
                Some(status) if action.has_run() => format!("the command ended with {status}. "),
                _ => String::new(),
            };
            say(&format!(
                "{ended}{key:?} may have happened all the same. `unstuck inbox` asks you; what you \
                 say counts when this is run again."
            ));
            Ok(Exit::Unsure)
        }
        Err(Undecided::KeyReused(_)) => {
            say(&format!(
                "the key {key:?} was used for another command. Nothing was run; take another key."
            ));
            Ok(Exit::Refused)
        }
        Err(Undecided::Refused(why) | Undecided::RequestReused(why)) => {
            say(&format!("{key:?} was not run: {why}"));
            Ok(Exit::Refused)
        }
        Err(Undecided::Stale) => {
            say(&format!("{key:?} was not run: the run around it has ended"));
            Ok(Exit::Refused)
        }
        Err(Undecided::Store(fault)) => Err(Error::Fault(fault.clone())),
        Err(Undecided::Ended) => {
            say("the process that held the project is gone; run it again to see what became of it");
            Ok(Exit::Limited)
        }
    }
}
