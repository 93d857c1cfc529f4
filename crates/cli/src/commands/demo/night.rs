//! The night itself: the engine, a virtual clock, and effects that take their time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unstuck_core::engine::{
    BuildState, Command, Effect, EffectId, Event, Outcome, QuestionId, Recorded, Rng, State, Task,
    Work, decide, effects,
};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::QuestionText;
use unstuck_core::tell;
use unstuck_core::time::{Span, Time};

use super::ask::Answer;
use super::story;

/// 23:00 on some evening.
const EVENING: Time = Time::from_millis(23 * 3_600_000);
/// What an agent's minute costs in the story, in millionths.
const MICROS_PER_SECOND: u64 = 1_200;
/// A person needs this long to see a question and act on it.
const ANSWER_TAKES: Span = Span::from_mins(6);

/// What happened, ready to be shown.
pub(super) struct Told {
    pub(super) at: Time,
    pub(super) event: Event,
    pub(super) sentence: String,
}

/// What comes next.
pub(super) enum Moment {
    /// Something happened by itself.
    Went,
    /// Nothing happens until a person answers.
    AsksAPerson(QuestionId),
}

/// One night.
pub(super) struct Night {
    state: State,
    policy: Policy,
    now: Time,
    seed: u64,
    journal: Vec<Recorded>,
    /// What is under way, by when it ends.
    under_way: BTreeSet<(Time, EffectId)>,
    effects: BTreeMap<EffectId, Effect>,
    /// How often each thing was done before.
    times: BTreeMap<String, u32>,
    told: Vec<Told>,
}

impl Night {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: State::new("demo"),
            policy: Policy::default(),
            now: EVENING,
            seed,
            journal: Vec::new(),
            under_way: BTreeSet::new(),
            effects: BTreeMap::new(),
            times: BTreeMap::new(),
            told: Vec::new(),
        }
    }

    pub(super) const fn clock(&self) -> Time {
        self.now
    }

    pub(super) fn command(&mut self, command: Command) {
        let mut rng = Rng::seeded(self.seed ^ self.state.seq());
        let decided = decide(&mut self.state, command, &self.policy, self.now, &mut rng);
        for recorded in decided.unwrap_or_default() {
            if let Some(sentence) = tell::narration(&self.state, &self.policy, &recorded) {
                let (at, event) = (recorded.at, recorded.event.clone());
                self.told.push(Told { at, event, sentence });
            }
            for effect in effects(&self.state, &recorded) {
                self.begin(effect);
            }
            self.journal.push(recorded);
        }
    }

    fn begin(&mut self, effect: Effect) {
        if let Work::Stop { effect } = effect.what {
            self.effects.remove(&effect);
            return;
        }
        let (takes, _) = self.outcome(&effect);
        self.under_way.insert((self.now + takes, effect.id));
        self.effects.insert(effect.id, effect);
    }

    fn outcome(&self, effect: &Effect) -> (Span, Outcome) {
        let nth = self.times.get(&self.what(effect)).copied().unwrap_or_default();
        story::outcome(self.name(effect), effect.what, self.key(effect), nth)
    }

    fn name(&self, effect: &Effect) -> &str {
        self.state.task(effect.task).map_or("", |task| task.spec.name.as_str())
    }

    fn key(&self, effect: &Effect) -> Option<&str> {
        let (Work::Perform { mutation } | Work::Probe { mutation }) = effect.what else {
            return None;
        };
        Some(self.state.mutation(mutation)?.spec.key.as_str())
    }

    /// Names what an effect does, whichever run it belongs to.
    fn what(&self, effect: &Effect) -> String {
        let kind = match effect.what {
            Work::Attempt { .. } => "attempt",
            Work::Check => "check",
            Work::Perform { .. } => "perform",
            _ => "other",
        };
        format!("{} {kind} {}", self.name(effect), self.key(effect).unwrap_or_default())
    }

    /// Lets the next thing happen; none when the night is over.
    pub(super) fn next(&mut self) -> Option<Moment> {
        let ends = self.under_way.first().copied();
        let wakes = self.state.next_wake();
        match (ends, wakes) {
            (Some((at, id)), wake) if wake.is_none_or(|wake| at <= wake) => {
                self.under_way.pop_first();
                self.now = self.now.max(at);
                self.settle(id);
                Some(Moment::Went)
            }
            (_, Some(wake)) => {
                self.now = self.now.max(wake);
                self.command(Command::Wake);
                Some(Moment::Went)
            }
            (_, None) => {
                let question = self.state.questions().next()?.id;
                Some(Moment::AsksAPerson(question))
            }
        }
    }

    fn settle(&mut self, id: EffectId) {
        let Some(effect) = self.effects.remove(&id) else { return };
        let (takes, outcome) = self.outcome(&effect);
        *self.times.entry(self.what(&effect)).or_default() += 1;
        let spent = match effect.what {
            Work::Attempt { .. } => Amount {
                money_micros: takes.as_millis() / 1_000 * MICROS_PER_SECOND,
                ..Amount::ZERO
            },
            _ => Amount::ZERO,
        };
        self.command(Command::Settle { effect: id, outcome, spent });
    }

    /// Whether the account has been waited for: a good moment to be killed.
    pub(super) fn has_waited_for_the_account(&self) -> bool {
        let waited = |recorded: &Recorded| matches!(recorded.event, Event::GatePassing { .. });
        self.journal.iter().any(waited)
    }

    /// Ends the program as `kill -9` would and starts it again: all that is left is the journal,
    /// as it would be on disk. Returns how many events were read back.
    pub(super) fn kill_and_read_back(&mut self) -> usize {
        let written: Vec<String> =
            self.journal.iter().filter_map(|event| serde_json::to_string(event).ok()).collect();
        self.under_way.clear();
        self.effects.clear();
        self.state = State::new("demo");
        for line in &written {
            if let Ok(recorded) = serde_json::from_str::<Recorded>(line) {
                self.state.apply(&recorded);
            }
        }
        self.command(Command::Recover { task: None, clean: false });
        written.len()
    }

    pub(super) fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    pub(super) fn words(&self, id: QuestionId) -> Option<QuestionText> {
        let question = self.state.question(id)?;
        Some(tell::question_text(&self.state, question, self.now))
    }

    pub(super) fn answer(&mut self, question: QuestionId, answer: &Answer) {
        self.now = self.now + ANSWER_TAKES;
        self.command(Command::Answer {
            question,
            decision: answer.decision,
            guidance: answer.guidance.as_deref().map(Arc::from),
            by: Arc::from("you"),
        });
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.state.tasks()
    }

    pub(super) fn journal(&self) -> &[Recorded] {
        &self.journal
    }

    pub(super) fn is_complete(&self) -> bool {
        self.state.builds().all(|build| build.state == BuildState::Completed)
    }
}
