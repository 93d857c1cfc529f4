//! An external runtime: its reports about the work of its session. It survives the death of this process, and
//! repeats reports that were not answered.

use unstuck_core::engine::{Command, Effect, EffectKind, SessionReport, State, Task};
use unstuck_core::plan::{MutationKind, MutationSpec, Request};
use unstuck_core::time::Time;

use crate::plans;
use crate::world::{EffectMoment, SimulatedWorld};

/// Returns whether the work is done by an external runtime.
pub fn is_elsewhere(state: &State, effect: &Effect) -> bool {
    state.task(effect.task).is_some_and(Task::is_session)
}

/// Returns whether the runtime has to report the outcome of an allowed action first.
pub fn has_to_settle(state: &State, effect: &Effect) -> bool {
    let attempts = matches!(effect.what, EffectKind::Attempt { .. });
    attempts
        && is_elsewhere(state, effect)
        && state.mutations().any(|known| known.task == effect.task && known.state.is_open())
}

/// Returns whether a report is the last about its effect.
pub const fn ends_effect(command: &Command) -> bool {
    match command {
        Command::Settle { .. } => true,
        Command::Report { told, .. } => !matches!(told, SessionReport::Intends { .. }),
        _ => false,
    }
}

impl SimulatedWorld {
    /// Returns the runtime's next report about an effect of a session.
    pub(crate) fn report_session_work(
        &mut self,
        state: &State,
        effect: &Effect,
        now: Time,
    ) -> Option<Command> {
        let told = match effect.what {
            EffectKind::Attempt { .. } => {
                EffectMoment::from_effect(self, state, effect, now)?.draw_report()
            }
            EffectKind::Perform { mutation } => {
                let key = state.mutation(mutation)?.spec.key.clone();
                let Command::Settle { outcome, .. } =
                    self.perform_action(state, effect, mutation, now)?
                else {
                    return None;
                };
                SessionReport::Acted { key, outcome }
            }
            _ => return None,
        };
        Some(Command::Report { task: effect.task, told })
    }
}

impl EffectMoment<'_> {
    fn draw_report(mut self) -> SessionReport {
        if self.profile.busy_agents && !self.over && self.chance.one_in(3) {
            return SessionReport::Intends { mutation: self.draw_intended_action() };
        }
        let mut chance = self.chance.clone();
        let approach = self.draw_approach(&mut chance);
        if !self.fails {
            return SessionReport::Done { approach };
        }
        let key = self.effect.id.to_string().into();
        let request = Request { key, said: self.effect.id.0 };
        let approach = chance.one_in(2).then_some(approach);
        SessionReport::Failed { request, fault: self.draw_fault(), approach }
    }

    /// Generates an intended action without a probe, because this process cannot look up external outcomes.
    fn draw_intended_action(&mut self) -> MutationSpec {
        let wanted = plans::draw_wanted_action(&self.profile, &mut self.chance);
        MutationSpec { kind: MutationKind::Http, probe: false, ..wanted }
    }
}
