//! The simulated world: the outcome of every effect that the engine requests.
//!
//! The outcome of an effect depends on the seed, the task's name, the operation and the number of *recorded*
//! results of that operation; never on ids, times or crashes. So a run that crashed and came back meets the
//! same faults in the same order as one that did not.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest, ToolKind};
use unstuck_core::engine::{
    Command, Effect, Mutation, MutationId, Note, Occurrence, Outcome, Progress, RedCheck, State,
    TaskId, Work,
};
use unstuck_core::plan::MutationKind;
use unstuck_core::policy::Amount;
use unstuck_core::time::{Span, Time};

use crate::chance::Chance;
use crate::elsewhere::is_elsewhere;
use crate::faults;
use crate::outside::Outside;
use crate::plans;
use crate::profile::Profile;

/// The key under which results are counted.
pub type Place = (TaskId, &'static str, Arc<str>);

/// The simulated world.
#[derive(Clone, Debug)]
pub struct World {
    profile: Arc<Profile>,
    recorded: BTreeMap<Place, u32>,
    /// The recorded results by journal position, to undo them when that part of the journal is lost.
    log: Vec<(u64, Place)>,
    /// The ground truth.
    pub outside: Outside,
}

impl World {
    /// Creates a world in which nothing has happened.
    pub fn new(profile: Arc<Profile>) -> Self {
        Self { profile, recorded: BTreeMap::new(), log: Vec::new(), outside: Outside::default() }
    }

    /// Performs the next step of an effect and returns its report. A result ends the effect; all other
    /// reports occur while it runs.
    pub fn perform(&mut self, state: &State, effect: &Effect, now: Time) -> Option<Command> {
        if is_elsewhere(state, effect) {
            return self.told(state, effect, now);
        }
        let at = Scene::of(self, state, effect, now)?;
        Some(match effect.what {
            Work::Attempt { .. } => {
                at.agent(|at, chance| Outcome::Attempted { approach: at.approach(chance) })
            }
            Work::Repair { propose } => at.agent(|at, chance| Outcome::Repaired {
                approach: at.approach(chance),
                branch: propose.then(|| "unstuck/repair/job".into()),
            }),
            Work::Execute { .. } => at.script(),
            Work::Check | Work::Commit | Work::Emit | Work::TakeBack => at.plain(),
            Work::Perform { mutation } => self.act(state, effect, mutation, now)?,
            Work::Probe { mutation } => self.look_up(state, effect, mutation, now)?,
            Work::Stop { .. } => return None,
        })
    }

    /// Records that a report about an effect was accepted, or refused, when the journal was at `seq`.
    pub fn record(&mut self, place: Place, seq: u64) {
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

    pub(crate) fn act(
        &mut self,
        state: &State,
        effect: &Effect,
        id: MutationId,
        now: Time,
    ) -> Option<Command> {
        let mutation = state.mutation(id)?;
        let at = Scene::of(self, state, effect, now)?;
        let mut chance = at.chance.clone();
        let fault = faults::any(&self.profile, &mut chance, &at.name, now);
        let outcome = match (at.fails, chance.below(5)) {
            (false, _) => {
                self.outside.apply(mutation);
                Outcome::Applied { result: Arc::from("done") }
            }
            (true, 0) if mutation.spec.kind == MutationKind::Merge => Outcome::HeadMoved,
            (true, 1) if self.profile.foggy => {
                self.outside.apply(mutation);
                Outcome::Unknown { fault }
            }
            (true, 2) if self.profile.foggy => Outcome::Unknown { fault },
            (true, 3) if self.profile.foggy => {
                self.appears_late(mutation, now, &mut chance);
                Outcome::Unknown { fault }
            }
            _ => Outcome::Failed { fault, approach: None },
        };
        Some(Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO })
    }

    /// Lets the effect appear within the settling time.
    fn appears_late(&mut self, mutation: &Mutation, now: Time, chance: &mut Chance) {
        let settle = mutation.spec.settle_ms.as_millis();
        if settle > 0 {
            let wait = Span::from_millis(chance.below(settle));
            self.outside.apply_at(mutation, now + wait);
        }
    }

    fn look_up(
        &mut self,
        state: &State,
        effect: &Effect,
        id: MutationId,
        now: Time,
    ) -> Option<Command> {
        let mutation = state.mutation(id)?;
        let mut at = Scene::of(self, state, effect, now)?;
        let fault = faults::any(&self.profile, &mut at.chance, &at.name, now);
        let outcome = match at.chance.below(3) {
            0 if at.fails && self.profile.foggy => Outcome::CannotTell { said: None },
            1 if at.fails && self.profile.foggy => Outcome::Failed { fault, approach: None },
            2 if at.fails && self.profile.foggy => Outcome::Unknown { fault },
            _ if self.outside.happened(mutation) => Outcome::Applied { result: Arc::from("seen") },
            _ => Outcome::NotApplied,
        };
        Some(Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO })
    }
}

/// A moment of an effect.
pub(crate) struct Scene<'a> {
    pub(crate) profile: Arc<Profile>,
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

impl<'a> Scene<'a> {
    pub(crate) fn of(
        world: &World,
        state: &'a State,
        effect: &'a Effect,
        now: Time,
    ) -> Option<Self> {
        let name = state.task(effect.task)?.spec.name.clone();
        let place = place(state, effect);
        let count = world.recorded.get(&place).copied().unwrap_or(0);
        let profile = Arc::clone(&world.profile);
        let mut chance = Chance::at(profile.seed, &[&name, place.1, &place.2], u64::from(count));
        let over = count >= profile.trouble_max;
        let fails = chance.percent(profile.fault_percent) && !over;
        Some(Self { profile, state, effect, name, chance, fails, over, now })
    }

    pub(crate) fn fault(&mut self) -> Arc<unstuck_core::fault::Fault> {
        faults::any(&self.profile, &mut self.chance, &self.name, self.now)
    }

    fn reserved(&self) -> Amount {
        self.state.run(self.effect.run).map_or(Amount::ZERO, |run| run.reserved)
    }

    /// Draws a cost that is never more than was reserved for the call.
    fn spent(&mut self) -> Amount {
        let tokens = self.chance.below(self.reserved().tokens + 1);
        Amount { tokens, ..Amount::ZERO }
    }

    pub(crate) fn approach(&self, chance: &mut Chance) -> Arc<Approach> {
        let digest = (!chance.one_in(5)).then(|| Digest(chance.below(3)));
        // Occasionally an agent ends without a change.
        let files_changed = u32::from(!chance.one_in(7));
        let summary = self.name.clone();
        Arc::new(Approach { digest, summary, files_changed, ..Approach::default() })
    }

    fn settle(mut self, outcome: Outcome) -> Command {
        let spent = self.spent();
        Command::Settle { effect: self.effect.id, outcome, spent }
    }

    fn fail(mut self, approach: Option<Arc<Approach>>) -> Command {
        let fault = self.fault();
        self.settle(Outcome::Failed { fault, approach })
    }

    fn plain(self) -> Command {
        if self.fails { self.fail(None) } else { self.settle(Outcome::Done) }
    }

    fn agent(mut self, done: impl FnOnce(&Self, &mut Chance) -> Outcome) -> Command {
        if self.profile.busy_agents && !self.over && self.chance.below(3) > 0 {
            return self.busy();
        }
        let mut chance = self.chance.clone();
        if self.fails {
            let approach = chance.one_in(2).then(|| self.approach(&mut chance));
            self.fail(approach)
        } else {
            let outcome = done(&self, &mut chance);
            self.settle(outcome)
        }
    }

    /// Returns an intermediate action of an agent.
    fn busy(mut self) -> Command {
        let effect = self.effect.id;
        match self.chance.below(7) {
            0 if !self.profile.apart => {
                let tokens = 1 + self.chance.below(25);
                Command::Reserve { effect, amount: Amount { tokens, ..Amount::ZERO } }
            }
            1 | 2 if self.fails => Command::Raise { effect, fault: self.fault() },
            3 if !self.profile.apart => {
                let tree = (!self.chance.one_in(3)).then(|| Digest(self.chance.below(3)));
                Command::Observe { effect, fault: self.fault(), tree }
            }
            6 => Command::Note { effect, note: self.note() },
            4 => {
                let mutation = plans::wanted(&self.profile, &mut self.chance);
                Command::Mutate { effect, mutation }
            }
            _ => {
                let report = Progress {
                    iterations: 1,
                    tool_calls: 2,
                    validated: self.chance.one_in(3),
                    spent: self.spent(),
                };
                Command::Progress { effect, report }
            }
        }
    }

    fn note(&mut self) -> Note {
        match self.chance.below(5) {
            0 => Note::Thinking,
            3 => Note::Refused { what: Arc::from("git push"), why: Arc::from("commands.deny") },
            4 => Note::BaseChecked { red: vec![red()] },
            1 => Note::ToolCalled {
                tool: ToolKind::Command,
                label: Arc::from("make"),
                running: vec![Arc::from("make")],
            },
            _ => Note::Narrated { text: Arc::from("I look around.") },
        }
    }

    fn script(mut self) -> Command {
        let effect = self.effect.id;
        if !self.over && self.chance.one_in(2) {
            let mutation = plans::wanted(&self.profile, &mut self.chance);
            return Command::Mutate { effect, mutation };
        }
        if !self.over && !self.profile.apart && self.chance.one_in(8) {
            let tokens = 1 + self.chance.below(25);
            return Command::Reserve { effect, amount: Amount { tokens, ..Amount::ZERO } };
        }
        if self.fails && self.chance.one_in(8) {
            return Command::Blame { effect, fault: self.fault() };
        }
        self.plain()
    }
}

/// Returns the key under which results of an effect are counted.
pub fn place(state: &State, effect: &Effect) -> Place {
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
        Work::Perform { mutation } => ("perform", key(mutation)),
        Work::Probe { mutation } => ("probe", key(mutation)),
        what => (kind(what), Arc::from("")),
    };
    (effect.task, what, key)
}

/// Returns the kind of work as a word.
pub const fn kind(what: Work) -> &'static str {
    match what {
        Work::Attempt { .. } => "attempt",
        Work::Check => "check",
        Work::Commit => "commit",
        Work::Perform { .. } => "perform",
        Work::Probe { .. } => "probe",
        Work::Emit => "emit",
        Work::Repair { .. } => "repair",
        Work::Execute { .. } => "execute",
        Work::TakeBack => "take back",
        Work::Stop { .. } => "stop",
    }
}

/// Returns a check that is red before any work.
fn red() -> RedCheck {
    RedCheck {
        command: Arc::from("make test"),
        exit: 2,
        output: Arc::from("not ok 1 - adds"),
        tests: vec!["adds".to_owned()],
        compared: false,
    }
}
