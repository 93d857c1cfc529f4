//! The network of a declared action, and what it refused: told with the outcome and in the log, so
//! that it is not taken for a reply of the service.

use std::sync::Arc;

use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::{Fault, text_rules};
use unstuck_world::egress::EgressProxy;
use unstuck_world::process::Wall;
use unstuck_world::tool::{ActionReach, looks_like_closed_network};

use super::context::BuildContext;
use super::egress::{Refusals, add_refusals};
use crate::effects::EffectRequest;

/// The line for an action whose rule names no host.
const NO_HOSTS: &str = "Unstuck ran this action without a network: its rule in [[actions.allowed]] \
    names no hosts. To allow one, write into unstuck.toml: [[actions.allowed]] hosts = [\"…\"]";
/// The missing part of such a rule.
const HOSTS: &str = "hosts in [[actions.allowed]]";

/// The network of a declared action. It stays open until this is dropped.
pub(super) struct ActionFence {
    egress: Option<EgressProxy>,
    has_no_hosts: bool,
}

impl ActionFence {
    /// Returns the network of an action that may reach `reach` and runs inside `wall`.
    pub(super) fn new(reach: &ActionReach, wall: &Wall, egress: Option<EgressProxy>) -> Self {
        let names_none = matches!(reach, ActionReach::Hosts(hosts) if hosts.is_empty());
        Self { egress, has_no_hosts: names_none && wall.is_enclosed() }
    }

    fn refusals(&self, outcome: &EffectOutcome) -> Option<Refusals> {
        let no_hosts = || Refusals {
            target: HOSTS.to_owned(),
            lines: vec![NO_HOSTS.to_owned()],
            allowed_by: None,
        };
        let refused = self.egress.as_ref().and_then(Refusals::of_proxy);
        refused.or_else(|| (self.has_no_hosts && is_about_network(outcome)).then(no_hosts))
    }

    /// Returns whether a connection was refused.
    fn has_refused(&self) -> bool {
        self.egress.as_ref().is_some_and(|egress| !egress.list_refusals().is_empty())
    }
}

/// Returns whether an action or its look-up failed as if there were no network.
fn is_about_network(outcome: &EffectOutcome) -> bool {
    match outcome {
        EffectOutcome::Unknown { fault } | EffectOutcome::Failed { fault, .. } => {
            looks_like_closed_network(fault.code(), &fault.message)
        }
        EffectOutcome::CannotTell { said: Some(said) } => {
            let code = text_rules::classify_output(said.as_bytes()).code;
            looks_like_closed_network(code, said)
        }
        _ => false,
    }
}

impl BuildContext {
    /// Adds what the network of an action refused to an outcome that may be due to it, and to the
    /// log.
    pub(super) async fn explain_outcome(
        &self,
        order: &EffectRequest,
        fence: &ActionFence,
        outcome: EffectOutcome,
    ) -> EffectOutcome {
        let Some(refused) = fence.refusals(&outcome) else { return outcome };
        let explain = |fault: &Arc<Fault>| Arc::new(add_refusals(Fault::clone(fault), &refused));
        let told = match outcome {
            EffectOutcome::Unknown { fault } => EffectOutcome::Unknown { fault: explain(&fault) },
            EffectOutcome::Failed { fault, approach } => {
                EffectOutcome::Failed { fault: explain(&fault), approach }
            }
            EffectOutcome::CannotTell { said } => {
                let said = said.as_deref().unwrap_or_default();
                let said = format!("{said}\n{}", refused.render());
                EffectOutcome::CannotTell { said: Some(said.trim_start().into()) }
            }
            // A look-up that did not get through has seen nothing.
            EffectOutcome::NotApplied if fence.has_refused() => {
                EffectOutcome::CannotTell { said: Some(refused.render().into()) }
            }
            other => return other,
        };
        for line in &refused.lines {
            self.send_remark(order, line).await;
        }
        told
    }
}
