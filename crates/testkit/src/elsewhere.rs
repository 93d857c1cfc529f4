//! An external runtime: its reports about the work of its session. It survives the death of this process, and
//! repeats reports that were not answered.

use unstuck_core::engine::{Command, Effect, State, Task, Told, Work};
use unstuck_core::plan::{MutationKind, MutationSpec, Request};
use unstuck_core::time::Time;

use crate::plans;
use crate::world::{Scene, World};

/// Returns whether the work is done by an external runtime.
pub fn is_elsewhere(state: &State, effect: &Effect) -> bool {
    state.task(effect.task).is_some_and(Task::is_session)
}

/// Returns whether the runtime has to report the outcome of an allowed action first.
pub fn has_to_settle(state: &State, effect: &Effect) -> bool {
    let attempts = matches!(effect.what, Work::Attempt { .. });
    attempts
        && is_elsewhere(state, effect)
        && state.mutations().any(|known| known.task == effect.task && known.state.is_open())
}

/// Returns whether a report is the last about its effect.
pub const fn ends(command: &Command) -> bool {
    match command {
        Command::Settle { .. } => true,
        Command::Report { told, .. } => !matches!(told, Told::Intends { .. }),
        _ => false,
    }
}

impl World {
    /// Returns the runtime's next report about an effect of a session.
    pub(crate) fn told(&mut self, state: &State, effect: &Effect, now: Time) -> Option<Command> {
        let told = match effect.what {
            Work::Attempt { .. } => Scene::of(self, state, effect, now)?.told(),
            Work::Perform { mutation } => {
                let key = state.mutation(mutation)?.spec.key.clone();
                let Command::Settle { outcome, .. } = self.act(state, effect, mutation, now)?
                else {
                    return None;
                };
                Told::Acted { key, outcome }
            }
            _ => return None,
        };
        Some(Command::Report { task: effect.task, told })
    }
}

impl Scene<'_> {
    fn told(mut self) -> Told {
        if self.profile.busy_agents && !self.over && self.chance.one_in(3) {
            return Told::Intends { mutation: self.intended() };
        }
        let mut chance = self.chance.clone();
        let approach = self.approach(&mut chance);
        if !self.fails {
            return Told::Done { approach };
        }
        let key = self.effect.id.to_string().into();
        let request = Request { key, said: self.effect.id.0 };
        let approach = chance.one_in(2).then_some(approach);
        Told::Failed { request, fault: self.fault(), approach }
    }

    /// Generates an intended action without a probe, because this process cannot look up external outcomes.
    fn intended(&mut self) -> MutationSpec {
        let wanted = plans::wanted(&self.profile, &mut self.chance);
        MutationSpec { kind: MutationKind::Http, probe: false, ..wanted }
    }
}
