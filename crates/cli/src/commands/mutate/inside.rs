//! Actions inside a run: the holder keeps the ledger. A script's action is performed now; an agent's is
//! declared, and performed after the checks of its task.

use std::sync::Arc;

use unstuck_core::engine::{Command, Effect, EffectKind, Reconciled};
use unstuck_core::plan::MutationSpec;
use unstuck_runner::control::ControlClient;
use unstuck_runner::{ActionResult, DecideError};
use unstuck_world::tool::DeclarationPolicy;

use super::action::CommandAction;
use super::wanted;
use crate::args::MutateArgs;
use crate::error::CliError;
use crate::project::once::ActionWait;
use crate::project::{EnclosingRun, LocalProject};

/// The refusal for a repair, which may only change the script.
const ONLY_REPAIRS: &str = "a repair changes the script and does nothing outside. Put this command into \
    the script, with `unstuck mutate` before it: it is done when the script runs";

/// The result of an action inside a run.
pub(super) enum MutateOutcome {
    /// The action is settled, or could not be.
    Settled(Arc<Result<ActionResult, DecideError>>),
    /// The action is performed later, at the time described.
    Declared(&'static str),
    /// The action was performed before, and is not performed again.
    DoneBefore,
    /// The wait was given up.
    GivenUp,
}

impl From<Result<ActionResult, DecideError>> for MutateOutcome {
    fn from(settled: Result<ActionResult, DecideError>) -> Self {
        Self::Settled(Arc::new(settled))
    }
}

pub(super) async fn settle_inside(
    (args, project): (&MutateArgs, &LocalProject),
    child: &EnclosingRun,
    spec: MutationSpec,
    action: &Arc<CommandAction>,
    patience: &ActionWait,
) -> Result<MutateOutcome, CliError> {
    let client = child.connect().await?;
    let Some(effect) = client.own_effect().cloned() else {
        return Ok(Err(DecideError::Stale).into());
    };
    match effect.what {
        EffectKind::Execute { .. } => {
            action.set_task(effect.task);
            let settling = client.perform_action(effect.id, spec, Arc::clone(action) as _);
            Ok(tokio::select! {
                biased;
                settled = settling => settled.map_err(DecideError::from).into(),
                () = patience.wait_for_end() => MutateOutcome::GivenUp,
            })
        }
        EffectKind::Attempt { .. } => {
            let (declared, declarable) = wanted::declared_action(args, &spec, project)?;
            Ok(declare_action(&client, &effect, declared, &declarable).await)
        }
        _ => Ok(Err(DecideError::Refused(ONLY_REPAIRS.to_owned())).into()),
    }
}

/// Declares an action, as the tool does. An action that was performed before is not performed again.
async fn declare_action(
    client: &ControlClient,
    effect: &Effect,
    spec: MutationSpec,
    declarable: &DeclarationPolicy,
) -> MutateOutcome {
    let mutate = Command::Mutate { effect: effect.id, mutation: spec.clone() };
    let events = match client.submit_command(mutate).await {
        Ok(events) => events,
        Err(error) => return Err(DecideError::from(error)).into(),
    };
    if let Some(fault) = events.iter().find_map(|recorded| recorded.event.met_fault()) {
        return Err(DecideError::Refused(fault.message.clone())).into();
    }
    match events.iter().find_map(|recorded| recorded.event.declared_before()) {
        Some(Reconciled::Applied) => MutateOutcome::DoneBefore,
        Some(Reconciled::Skipped) => Ok(ActionResult::Skipped).into(),
        before @ (Some(Reconciled::NotApplied) | None) => {
            MutateOutcome::Declared(declarable.explain_timing(&spec, before))
        }
    }
}
