//! Inside a run: whoever holds the project keeps the ledger, and we do what we are told.

use std::sync::Arc;

use unstuck_core::engine::Work;
use unstuck_core::plan::MutationSpec;
use unstuck_runner::{Settled, Undecided};

use super::action::CommandAction;
use crate::error::Error;
use crate::project::Child;

/// An agent only says what is to be done; it is done when the checks have passed.
const AFTER_THE_CHECKS: &str = "what an agent wants done runs after the checks of its task; declare it \
    with the tool `mutate` of `unstuck mcp`";

pub(super) async fn settle(
    child: &Child,
    spec: MutationSpec,
    action: &Arc<CommandAction>,
) -> Result<Arc<Result<Settled, Undecided>>, Error> {
    let client = child.connect().await?;
    let Some(effect) = client.belongs() else { return Ok(Arc::new(Err(Undecided::Stale))) };
    match effect.what {
        Work::Execute { .. } => {
            action.belongs_to(effect.task);
            let settled = client.mutate(effect.id, spec, Arc::clone(action) as _).await;
            Ok(Arc::new(settled.map_err(Undecided::from)))
        }
        _ => Ok(Arc::new(Err(Undecided::Refused(AFTER_THE_CHECKS.to_owned())))),
    }
}
