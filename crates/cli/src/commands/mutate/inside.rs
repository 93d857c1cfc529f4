//! Actions inside a run: the holder keeps the ledger. A script's action is performed now; an agent's is
//! declared, and performed after the checks of its task.

use std::sync::Arc;

use unstuck_core::engine::{Command, Effect, Reconciled, Work};
use unstuck_core::plan::MutationSpec;
use unstuck_runner::control::Client;
use unstuck_runner::{Settled, Undecided};
use unstuck_world::tool::Declarable;

use super::action::CommandAction;
use super::wanted;
use crate::args::Mutate;
use crate::error::Error;
use crate::project::once::Patience;
use crate::project::{Child, Project};

/// The refusal for a repair, which may only change the script.
const ONLY_REPAIRS: &str = "a repair changes the script and does nothing outside. Put this command into \
    the script, with `unstuck mutate` before it: it is done when the script runs";

/// The result of an action inside a run.
pub(super) enum Came {
    /// The action is settled, or could not be.
    Settled(Arc<Result<Settled, Undecided>>),
    /// The action is performed later, at the time described.
    Declared(&'static str),
    /// The action was performed before, and is not performed again.
    DoneBefore,
    /// The wait was given up.
    GivenUp,
}

impl From<Result<Settled, Undecided>> for Came {
    fn from(settled: Result<Settled, Undecided>) -> Self {
        Self::Settled(Arc::new(settled))
    }
}

pub(super) async fn settle(
    (args, project): (&Mutate, &Project),
    child: &Child,
    spec: MutationSpec,
    action: &Arc<CommandAction>,
    patience: &Patience,
) -> Result<Came, Error> {
    let client = child.connect().await?;
    let Some(effect) = client.belongs().cloned() else { return Ok(Err(Undecided::Stale).into()) };
    match effect.what {
        Work::Execute { .. } => {
            action.belongs_to(effect.task);
            let settling = client.mutate(effect.id, spec, Arc::clone(action) as _);
            Ok(tokio::select! {
                biased;
                settled = settling => settled.map_err(Undecided::from).into(),
                () = patience.over() => Came::GivenUp,
            })
        }
        Work::Attempt { .. } => {
            let (declared, declarable) = wanted::declared(args, &spec, project)?;
            Ok(declare(&client, &effect, declared, &declarable).await)
        }
        _ => Ok(Err(Undecided::Refused(ONLY_REPAIRS.to_owned())).into()),
    }
}

/// Declares an action, as the tool does. An action that was performed before is not performed again.
async fn declare(
    client: &Client,
    effect: &Effect,
    spec: MutationSpec,
    declarable: &Declarable,
) -> Came {
    let mutate = Command::Mutate { effect: effect.id, mutation: spec.clone() };
    let events = match client.command(mutate).await {
        Ok(events) => events,
        Err(error) => return Err(Undecided::from(error)).into(),
    };
    if let Some(fault) = events.iter().find_map(|recorded| recorded.event.met()) {
        return Err(Undecided::Refused(fault.message.clone())).into();
    }
    match events.iter().find_map(|recorded| recorded.event.declared_before()) {
        Some(Reconciled::Applied) => Came::DoneBefore,
        Some(Reconciled::Skipped) => Ok(Settled::Skipped).into(),
        before @ (Some(Reconciled::NotApplied) | None) => {
            Came::Declared(declarable.when_run(&spec, before))
        }
    }
}
