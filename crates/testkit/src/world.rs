//! The simulated world: the outcome of every effect that the engine requests.
//!
//! The outcome of an effect depends on the seed, the task's name, the operation and the number of *recorded*
//! results of that operation; never on ids, times or crashes. So a run that crashed and came back meets the
//! same faults in the same order as one that did not.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest, ToolKind};
use unstuck_core::engine::{
    Command, Effect, EffectKind, EffectOutcome, Mutation, MutationId, Occurrence, ProgressReport,
    RedCheck, RunNote, SessionReport, State, TaskId,
};
use unstuck_core::plan::{MutationKind, MutationSpec, Request};
use unstuck_core::policy::Amount;
use unstuck_core::time::{Span, Time};

use crate::chance::Chance;
use crate::moves::is_elsewhere;
use crate::profile::WorldProfile;
use crate::remote_side::RemoteSide;
use crate::{faults, plans};

/// The key under which results are counted.
pub type ResultKey = (TaskId, &'static str, Arc<str>);

/// The simulated world.
#[derive(Clone, Debug)]
pub struct SimulatedWorld {
    profile: Arc<WorldProfile>,
    recorded: BTreeMap<ResultKey, u32>,
    /// The recorded results by journal position, to undo them when that part of the journal is lost.
    log: Vec<(u64, ResultKey)>,
    /// The ground truth.
    pub outside: RemoteSide,
}

impl SimulatedWorld {
    /// Creates a world in which nothing has happened.
    pub fn new(profile: Arc<WorldProfile>) -> Self {
        Self { profile, recorded: BTreeMap::new(), log: Vec::new(), outside: RemoteSide::default() }
    }

    /// Performs the next step of an effect and returns its report. A result ends the effect; all other
    /// reports occur while it runs.
    pub fn perform_effect(&mut self, state: &State, effect: &Effect, now: Time) -> Option<Command> {
        if is_elsewhere(state, effect) {
            return self.report_session_work(state, effect, now);
        }
        let at = EffectMoment::from_effect(self, state, effect, now)?;
        Some(match effect.what {
            EffectKind::Attempt { .. } => at.run_agent(|at, chance| EffectOutcome::Attempted {
                approach: at.draw_approach(chance),
            }),
            EffectKind::Repair { propose } => at.run_agent(|at, chance| EffectOutcome::Repaired {
                approach: at.draw_approach(chance),
                branch: propose.then(|| "unstuck/repair/job".into()),
            }),
            EffectKind::Execute { .. } => at.run_script(),
            EffectKind::Check | EffectKind::Commit | EffectKind::Emit | EffectKind::TakeBack => {
                at.run_plain()
            }
            EffectKind::Perform { mutation } => {
                self.perform_action(state, effect, mutation, now)?
            }
            EffectKind::Probe { mutation } => self.probe_action(state, effect, mutation, now)?,
        })
    }

    /// Records that a report about an effect was accepted, or refused, when the journal was at `seq`.
    pub fn record_result(&mut self, place: ResultKey, seq: u64) {
        *self.recorded.entry(place.clone()).or_default() += 1;
        self.log.push((seq, place));
    }

    /// Undoes the records after `seq`, which were lost.
    pub fn forget_after(&mut self, seq: u64) {
        while let Some((_, place)) = self.log.pop_if(|(at, _)| *at > seq) {
            if let Some(count) = self.recorded.get_mut(&place) {
                *count -= 1;
            }
        }
    }

    pub(crate) fn perform_action(
        &mut self,
        state: &State,
        effect: &Effect,
        id: MutationId,
        now: Time,
    ) -> Option<Command> {
        let mutation = state.mutation(id)?;
        let at = EffectMoment::from_effect(self, state, effect, now)?;
        let mut chance = at.chance.clone();
        let fault = faults::draw_fault(&self.profile, &mut chance, &at.name, now);
        let outcome = match (at.fails, chance.draw_below(5)) {
            (false, _) => {
                self.outside.apply_action(mutation);
                EffectOutcome::Applied { result: Arc::from("done") }
            }
            (true, 0) if mutation.spec.kind == MutationKind::Merge => EffectOutcome::HeadMoved,
            (true, 1) if self.profile.foggy => {
                self.outside.apply_action(mutation);
                EffectOutcome::Unknown { fault }
            }
            (true, 2) if self.profile.foggy => EffectOutcome::Unknown { fault },
            (true, 3) if self.profile.foggy => {
                self.apply_late(mutation, now, &mut chance);
                EffectOutcome::Unknown { fault }
            }
            _ => EffectOutcome::Failed { fault, approach: None },
        };
        Some(Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO })
    }

    /// Lets the effect appear within the settling time.
    fn apply_late(&mut self, mutation: &Mutation, now: Time, chance: &mut Chance) {
        let settle = mutation.spec.settle_ms.as_millis();
        if settle > 0 {
            let wait = Span::from_millis(chance.draw_below(settle));
            self.outside.apply_action_at(mutation, now + wait);
        }
    }

    fn probe_action(
        &mut self,
        state: &State,
        effect: &Effect,
        id: MutationId,
        now: Time,
    ) -> Option<Command> {
        let mutation = state.mutation(id)?;
        let mut at = EffectMoment::from_effect(self, state, effect, now)?;
        let fault = faults::draw_fault(&self.profile, &mut at.chance, &at.name, now);
        let outcome = match at.chance.draw_below(3) {
            0 if at.fails && self.profile.foggy => EffectOutcome::CannotTell { said: None },
            1 if at.fails && self.profile.foggy => EffectOutcome::Failed { fault, approach: None },
            2 if at.fails && self.profile.foggy => EffectOutcome::Unknown { fault },
            _ if self.outside.has_happened(mutation) => {
                EffectOutcome::Applied { result: Arc::from("seen") }
            }
            _ => EffectOutcome::NotApplied,
        };
        Some(Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO })
    }

    /// Returns the next report of an external runtime about an effect of its session. The runtime survives the
    /// death of this process, and repeats reports that were not answered.
    fn report_session_work(
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

pub(crate) struct EffectMoment<'a> {
    pub(crate) profile: Arc<WorldProfile>,
    state: &'a State,
    pub(crate) effect: &'a Effect,
    name: String,
    pub(crate) chance: Chance,
    /// `true` if the operation fails now.
    pub(crate) fails: bool,
    /// `true` if no more faults occur.
    pub(crate) over: bool,
    now: Time,
}

impl<'a> EffectMoment<'a> {
    pub(crate) fn from_effect(
        world: &SimulatedWorld,
        state: &'a State,
        effect: &'a Effect,
        now: Time,
    ) -> Option<Self> {
        let name = state.task(effect.task)?.spec.name.clone();
        let place = result_key(state, effect);
        let count = world.recorded.get(&place).copied().unwrap_or(0);
        let profile = Arc::clone(&world.profile);
        let mut chance =
            Chance::for_place(profile.seed, &[&name, place.1, &place.2], u64::from(count));
        let over = count >= profile.trouble_max;
        let fails = chance.draw_percent(profile.fault_percent) && !over;
        Some(Self { profile, state, effect, name, chance, fails, over, now })
    }

    pub(crate) fn draw_fault(&mut self) -> Arc<unstuck_core::fault::Fault> {
        faults::draw_fault(&self.profile, &mut self.chance, &self.name, self.now)
    }

    fn reserved_amount(&self) -> Amount {
        self.state.run(self.effect.run).map_or(Amount::ZERO, |run| run.reserved)
    }

    /// Draws a cost that is never more than was reserved for the call.
    fn draw_spent(&mut self) -> Amount {
        let tokens = self.chance.draw_below(self.reserved_amount().tokens + 1);
        Amount { tokens, ..Amount::ZERO }
    }

    pub(crate) fn draw_approach(&self, chance: &mut Chance) -> Arc<Approach> {
        let digest = (!chance.one_in(5)).then(|| Digest(chance.draw_below(3)));
        // Occasionally an agent ends without a change.
        let files_changed = u32::from(!chance.one_in(7));
        let summary = self.name.clone();
        Arc::new(Approach { digest, summary, files_changed, ..Approach::default() })
    }

    fn settle_effect(mut self, outcome: EffectOutcome) -> Command {
        let spent = self.draw_spent();
        Command::Settle { effect: self.effect.id, outcome, spent }
    }

    fn fail_effect(mut self, approach: Option<Arc<Approach>>) -> Command {
        let fault = self.draw_fault();
        self.settle_effect(EffectOutcome::Failed { fault, approach })
    }

    fn run_plain(self) -> Command {
        if self.fails { self.fail_effect(None) } else { self.settle_effect(EffectOutcome::Done) }
    }

    fn run_agent(mut self, done: impl FnOnce(&Self, &mut Chance) -> EffectOutcome) -> Command {
        if self.profile.busy_agents && !self.over && self.chance.draw_below(3) > 0 {
            return self.draw_agent_command();
        }
        let mut chance = self.chance.clone();
        if self.fails {
            let approach = chance.one_in(2).then(|| self.draw_approach(&mut chance));
            self.fail_effect(approach)
        } else {
            let outcome = done(&self, &mut chance);
            self.settle_effect(outcome)
        }
    }

    /// Returns an intermediate action of an agent.
    fn draw_agent_command(mut self) -> Command {
        let effect = self.effect.id;
        match self.chance.draw_below(7) {
            0 if !self.profile.apart => {
                let tokens = 1 + self.chance.draw_below(25);
                Command::Reserve { effect, amount: Amount { tokens, ..Amount::ZERO } }
            }
            1 | 2 if self.fails => Command::Raise { effect, fault: self.draw_fault() },
            3 if !self.profile.apart => {
                let tree = (!self.chance.one_in(3)).then(|| Digest(self.chance.draw_below(3)));
                Command::Observe { effect, fault: self.draw_fault(), tree }
            }
            6 => Command::Note { effect, note: self.draw_note() },
            4 => {
                let mutation = plans::draw_wanted_action(&self.profile, &mut self.chance);
                Command::Mutate { effect, mutation }
            }
            _ => {
                let report = ProgressReport {
                    iterations: 1,
                    tool_calls: 2,
                    validated: self.chance.one_in(3),
                    idle: false,
                    spent: self.draw_spent(),
                };
                Command::Progress { effect, report }
            }
        }
    }

    fn draw_note(&mut self) -> RunNote {
        match self.chance.draw_below(5) {
            0 => RunNote::Thinking,
            3 => RunNote::Refused { what: Arc::from("git push"), why: Arc::from("commands.deny") },
            4 => RunNote::BaseChecked { red: vec![make_red_check()] },
            1 => RunNote::ToolCalled {
                tool: ToolKind::Command,
                label: Arc::from("make"),
                running: vec![Arc::from("make")],
            },
            _ => RunNote::Narrated { text: Arc::from("I look around.") },
        }
    }

    fn run_script(mut self) -> Command {
        let effect = self.effect.id;
        if !self.over && self.chance.one_in(2) {
            let mutation = plans::draw_wanted_action(&self.profile, &mut self.chance);
            return Command::Mutate { effect, mutation };
        }
        if !self.over && !self.profile.apart && self.chance.one_in(8) {
            let tokens = 1 + self.chance.draw_below(25);
            return Command::Reserve { effect, amount: Amount { tokens, ..Amount::ZERO } };
        }
        if self.fails && self.chance.one_in(8) {
            return Command::Blame { effect, fault: self.draw_fault() };
        }
        self.run_plain()
    }

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

/// Returns the key under which results of an effect are counted.
pub fn result_key(state: &State, effect: &Effect) -> ResultKey {
    let key = |id: MutationId| {
        // Another attempt's merge is another action, whatever the reply to the first one's was.
        let attempt = |occurrence| match occurrence {
            Occurrence::Attempt(_, attempt) => attempt,
            Occurrence::Firing(..) | Occurrence::Project => 0,
        };
        Arc::from(state.mutation(id).map_or_else(String::new, |mutation| {
            format!("{}#{}", mutation.spec.key, attempt(mutation.occurrence))
        }))
    };
    let (what, key) = match effect.what {
        EffectKind::Perform { mutation } => ("perform", key(mutation)),
        EffectKind::Probe { mutation } => ("probe", key(mutation)),
        what => (work_kind(what), Arc::from("")),
    };
    (effect.task, what, key)
}

/// Returns the kind of work as a word.
pub const fn work_kind(what: EffectKind) -> &'static str {
    match what {
        EffectKind::Attempt { .. } => "attempt",
        EffectKind::Check => "check",
        EffectKind::Commit => "commit",
        EffectKind::Perform { .. } => "perform",
        EffectKind::Probe { .. } => "probe",
        EffectKind::Emit => "emit",
        EffectKind::Repair { .. } => "repair",
        EffectKind::Execute { .. } => "execute",
        EffectKind::TakeBack => "take back",
    }
}

/// Returns a check that is red before any work.
fn make_red_check() -> RedCheck {
    RedCheck {
        command: Arc::from("make test"),
        exit: 2,
        output: Arc::from("not ok 1 - adds"),
        tests: vec!["adds".to_owned()],
        compared: false,
        later: None,
    }
}
