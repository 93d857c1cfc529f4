//! A stage for stories about the engine: a project, a clock, and words for what happens.

use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{
    BuildId, Command, CommandRejection, Effect, EffectChange, EffectId, EffectKind, EffectOutcome,
    Event, Question, QuestionId, RecordedEvent, Rng, State, Step, TaskId, TaskState, decide,
    requested_effects,
};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::{JobSpec, MutationSpec, Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::Decision;
use unstuck_core::signature::Signature;
use unstuck_core::time::{Span, Time};

/// One project on stage.
pub(crate) struct Stage {
    pub(crate) state: State,
    pub(crate) policy: Policy,
    pub(crate) now: Time,
    pub(crate) journal: Vec<RecordedEvent>,
    /// Effects that were to be performed or stopped, oldest first.
    pub(crate) released: Vec<EffectChange>,
    approaches: u64,
    /// Leave out the comparison with the replayed journal, which is slow on large plans.
    pub(crate) quiet: bool,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Policy::default())
    }

    pub(crate) fn with(policy: Policy) -> Self {
        Self {
            state: State::new("demo"),
            policy,
            now: Time::from_millis(1_000_000_000_000),
            journal: Vec::new(),
            released: Vec::new(),
            approaches: 0,
            quiet: false,
        }
    }

    /// A stage with one build of one plain task per name, all of them free to start.
    pub(crate) fn tasks(names: &[&str]) -> Self {
        let mut stage = Self::new();
        stage.build(names.iter().map(|name| task(name)).collect());
        stage
    }

    pub(crate) fn build(&mut self, tasks: Vec<TaskSpec>) -> BuildId {
        self.build_with_slots(tasks, 100)
    }

    pub(crate) fn build_with_slots(&mut self, tasks: Vec<TaskSpec>, slots: u32) -> BuildId {
        let plan = Arc::new(Plan::new(tasks).unwrap());
        self.must(Command::StartBuild { plan, slots, in_place: false });
        self.state.builds().map(|build| build.id).max().unwrap()
    }

    /// Defines a job and fires it.
    pub(crate) fn job(&mut self, name: &str, job: JobSpec) -> TaskId {
        let spec = TaskSpec { job: Some(job), ..task(name) };
        self.must(Command::DefineJob { spec: Arc::new(spec) });
        let id = self.id(name);
        self.must(Command::FireJob { task: id });
        id
    }

    pub(crate) fn try_to(&mut self, command: Command) -> Result<Vec<Event>, CommandRejection> {
        let before = (!self.quiet).then(|| self.state.clone());
        let mut rng = Rng::for_decision("demo", self.state.seq());
        match decide(&mut self.state, command, &self.policy, self.now, &mut rng) {
            Ok(recorded) => {
                self.released
                    .extend(recorded.iter().flat_map(|r| requested_effects(&self.state, r)));
                let events = recorded.iter().map(|r| r.event.clone()).collect();
                self.journal.extend(recorded);
                self.check_replay();
                Ok(events)
            }
            Err(rejected) => {
                if let Some(before) = before {
                    assert_eq!(self.state, before, "a rejected command changed the state");
                }
                Err(rejected)
            }
        }
    }

    pub(crate) fn must(&mut self, command: Command) -> Vec<Event> {
        let said = format!("{command:?}");
        self.try_to(command).unwrap_or_else(|rejected| panic!("{said}: {rejected}"))
    }

    fn check_replay(&self) {
        if self.quiet {
            return;
        }
        let mut replayed = State::new("demo");
        for recorded in &self.journal {
            replayed.apply(recorded).unwrap();
        }
        assert_eq!(replayed, self.state, "the journal does not add up to the state");
    }

    pub(crate) fn id(&self, name: &str) -> TaskId {
        let task = self.state.tasks().filter(|task| task.spec.name == name).last();
        task.unwrap_or_else(|| panic!("no task {name}")).id
    }

    pub(crate) fn task_state(&self, name: &str) -> &TaskState {
        &self.state.task(self.id(name)).unwrap().state
    }

    /// What the outside owes for a task.
    pub(crate) fn owed(&self, name: &str) -> Effect {
        self.owed_if_any(name).unwrap_or_else(|| {
            panic!("nothing is owed for {name}, which is {:?}", self.task_state(name))
        })
    }

    pub(crate) fn owed_if_any(&self, name: &str) -> Option<Effect> {
        let id = self.id(name);
        self.state.outstanding_effects().into_iter().rfind(|effect| effect.task == id)
    }

    pub(crate) fn settle(&mut self, name: &str, outcome: EffectOutcome) -> Vec<Event> {
        let effect = self.owed(name).id;
        self.must(Command::Settle { effect, outcome, spent: Amount::ZERO })
    }

    /// The agent says it is done, in a way not seen before.
    pub(crate) fn attempt(&mut self, name: &str) -> Vec<Event> {
        self.approaches += 1;
        self.attempt_as(name, self.approaches)
    }

    /// The agent says it is done, in the way numbered `approach`.
    pub(crate) fn attempt_as(&mut self, name: &str, approach: u64) -> Vec<Event> {
        assert!(
            matches!(self.owed(name).what, EffectKind::Attempt { .. }),
            "{:?}",
            self.owed(name)
        );
        let approach = Arc::new(approach_no(approach));
        self.settle(name, EffectOutcome::Attempted { approach })
    }

    pub(crate) fn done(&mut self, name: &str) -> Vec<Event> {
        self.settle(name, EffectOutcome::Done)
    }

    /// An agent has repaired the script; with a branch, the repair waits there.
    pub(crate) fn repaired(&mut self, name: &str, branch: Option<&str>) -> Vec<Event> {
        let approach = Arc::new(approach_no(self.approaches));
        self.settle(name, EffectOutcome::Repaired { approach, branch: branch.map(Arc::from) })
    }

    pub(crate) fn applied(&mut self, name: &str) -> Vec<Event> {
        self.settle(name, EffectOutcome::Applied { result: Arc::from("ok") })
    }

    pub(crate) fn fails(&mut self, name: &str, fault: Fault) -> Vec<Event> {
        let approach = Some(Arc::new(approach_no(self.approaches)));
        self.settle(name, EffectOutcome::Failed { fault: Arc::new(fault), approach })
    }

    /// The agent works, and the checks are red.
    pub(crate) fn red(&mut self, name: &str, error: &str) -> Vec<Event> {
        self.attempt(name);
        self.fails(name, red(error))
    }

    /// A task without actions goes through to its end.
    pub(crate) fn succeed(&mut self, name: &str) {
        self.attempt(name);
        for _ in ["check", "commit", "emit"] {
            self.done(name);
        }
        assert_eq!(*self.task_state(name), TaskState::Done);
    }

    pub(crate) fn question(&self) -> &Question {
        let mut open = self.state.questions();
        let question = open.next().expect("a question is open");
        assert!(open.next().is_none(), "more than one question is open");
        question
    }

    pub(crate) fn answer(&mut self, decision: Decision) -> Vec<Event> {
        let question = self.question().id;
        self.answer_to(question, decision, None)
    }

    pub(crate) fn answer_to(
        &mut self,
        question: QuestionId,
        decision: Decision,
        guidance: Option<&str>,
    ) -> Vec<Event> {
        let guidance = guidance.map(Arc::from);
        self.must(Command::Answer { question, decision, guidance, by: Arc::from("anna") })
    }

    /// Time passes until something happens by itself, and it happens.
    pub(crate) fn wait(&mut self) -> Span {
        let until = self.state.next_wake().expect("nothing is waited for");
        let waited = until.since(self.now);
        self.now = self.now.max(until);
        self.must(Command::Wake);
        waited
    }

    pub(crate) fn step(&self, name: &str) -> Step {
        let run = self.state.task(self.id(name)).unwrap().state.run().unwrap();
        self.state.run(run).unwrap().step
    }

    pub(crate) fn effect_id(&self, name: &str) -> EffectId {
        self.owed(name).id
    }
}

pub(crate) fn task(name: &str) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        title: format!("Task {name}"),
        goal: format!("Do {name}"),
        ..TaskSpec::default()
    }
}

pub(crate) fn needing(name: &str, needs: &[&str]) -> TaskSpec {
    TaskSpec { depends_on: needs.iter().map(|&need| need.to_owned()).collect(), ..task(name) }
}

/// An action that can be looked up afterwards.
pub(crate) fn action(key: &str) -> MutationSpec {
    MutationSpec { key: key.to_owned(), probe: true, ..MutationSpec::default() }
}

pub(crate) fn with_actions(name: &str, mutations: Vec<MutationSpec>) -> TaskSpec {
    let mutations = mutations.into_iter().map(Arc::new).collect();
    TaskSpec { mutations, ..task(name) }
}

pub(crate) fn approach_no(number: u64) -> Approach {
    Approach {
        digest: Some(Digest(number)),
        summary: format!("approach {number}"),
        files_changed: 1,
        ..Approach::default()
    }
}

/// A bare fault of a code; the message makes it one error or another.
pub(crate) fn fault(code: Code, error: &str) -> Fault {
    let mut fault = Fault::new(Kind::bare(code), "test", error);
    fault.signature = Signature::from_parts(code, "test", &[error]);
    fault
}

pub(crate) fn red(error: &str) -> Fault {
    fault(Code::ValidationPreCommit, error)
}

/// The events of one kind, by the name they have in the journal.
pub(crate) fn named<'a>(events: &'a [Event], name: &'a str) -> impl Iterator<Item = &'a Event> {
    events.iter().filter(move |event| {
        let json = serde_json::to_value(event).unwrap();
        json["type"] == name
    })
}

pub(crate) fn happened(events: &[Event], name: &str) -> bool {
    named(events, name).next().is_some()
}
