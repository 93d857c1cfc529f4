//! An engine on a desk: commands by hand, time by hand, everything that is owed done on demand.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::{
    BuildId, Command, CommandRejection, Effect, EffectKind, EffectOutcome, Event, GateKey,
    QuestionId, Rng, State, TaskId, TaskState, decide,
};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::{JobSpec, MutationKind, MutationSpec, Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::Decision;
use unstuck_core::time::Time;
use unstuck_testkit::check;

pub(crate) struct Desk {
    pub(crate) state: State,
    pub(crate) policy: Policy,
    pub(crate) now: Time,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let now = Time::from_millis(1_700_000_000_000);
        Self { state: State::new("desk"), policy: Policy::default(), now }
    }

    /// A desk with a job that was fired.
    pub(crate) fn with_job(name: &str) -> Self {
        let mut desk = Self::new();
        desk.give(Command::DefineJob { spec: Arc::new(job(name)) });
        desk.give(Command::FireJob { task: TaskId(0) });
        desk
    }

    pub(crate) fn try_give(&mut self, command: Command) -> Result<Vec<Event>, CommandRejection> {
        let mut rng = Rng::for_decision("desk", self.state.seq());
        let events = decide(&mut self.state, command, &self.policy, self.now, &mut rng)?;
        check::check_state(&self.state, &self.policy).unwrap();
        check::check_thoroughly(&self.state).unwrap();
        Ok(events.into_iter().map(|recorded| recorded.event).collect())
    }

    pub(crate) fn give(&mut self, command: Command) -> Vec<Event> {
        self.try_give(command).unwrap()
    }

    pub(crate) fn start(&mut self, slots: u32, tasks: Vec<TaskSpec>) -> Vec<Event> {
        let plan = Arc::new(Plan::new(tasks).unwrap());
        self.give(Command::StartBuild { plan, slots, in_place: false })
    }

    /// The effect that is owed for the task.
    pub(crate) fn owed(&self, task: TaskId) -> Effect {
        let owed = self.state.outstanding_effects().into_iter().find(|effect| effect.task == task);
        owed.unwrap_or_else(|| panic!("{task} is owed nothing: {:?}", self.task(task)))
    }

    pub(crate) fn task(&self, task: TaskId) -> &TaskState {
        &self.state.task(task).unwrap().state
    }

    pub(crate) fn settle(&mut self, task: TaskId, outcome: EffectOutcome) -> Vec<Event> {
        let effect = self.owed(task).id;
        self.give(Command::Settle { effect, outcome, spent: Amount::ZERO })
    }

    /// The task's outside succeeds at what it is at.
    pub(crate) fn done(&mut self, task: TaskId) -> Vec<Event> {
        let outcome = match self.owed(task).what {
            EffectKind::Attempt { .. } => EffectOutcome::Attempted {
                approach: Arc::new(Approach { files_changed: 1, ..Approach::default() }),
            },
            EffectKind::Perform { .. } => EffectOutcome::Applied { result: Arc::from("") },
            _ => EffectOutcome::Done,
        };
        self.settle(task, outcome)
    }

    /// The task's outside succeeds until it is at `what`.
    pub(crate) fn done_until(&mut self, task: TaskId, what: fn(&EffectKind) -> bool) {
        while !what(&self.owed(task).what) {
            self.done(task);
        }
    }

    pub(crate) fn fails(&mut self, task: TaskId, code: Code) -> Vec<Event> {
        self.settle(task, EffectOutcome::Failed { fault: fault(code), approach: None })
    }

    pub(crate) fn answer(&mut self, question: u32, decision: Decision) -> Vec<Event> {
        let by = Arc::from("operator");
        let question = QuestionId(question);
        self.give(Command::Answer { question, decision, guidance: None, by })
    }

    /// Time passes until nothing is due any more.
    pub(crate) fn wait(&mut self) {
        let at = self.state.next_wake().unwrap();
        self.now = self.now.max(at);
        self.give(Command::Wake);
    }

    pub(crate) fn questions(&self) -> usize {
        self.state.questions().count()
    }

    /// True when the build has come to its end.
    pub(crate) fn is_over(&self, build: u32) -> bool {
        self.state.build(BuildId(build)).is_none_or(|build| build.state.has_ended())
    }
}

pub(crate) fn fault(code: Code) -> Arc<Fault> {
    Arc::new(Fault::new(Kind::bare(code), "somewhere", "trouble"))
}

pub(crate) fn task(name: &str, needs: &[&str]) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        depends_on: needs.iter().map(|&need| need.to_owned()).collect(),
        gate: GateKey(1),
        ..TaskSpec::default()
    }
}

pub(crate) fn acting(name: &str, actions: Vec<MutationSpec>) -> TaskSpec {
    let mutations = actions.into_iter().map(Arc::new).collect();
    TaskSpec { mutations, ..task(name, &[]) }
}

pub(crate) fn job(name: &str) -> TaskSpec {
    TaskSpec { job: Some(JobSpec::default()), ..task(name, &[]) }
}

/// An action that can be looked up.
pub(crate) fn action(key: &str) -> MutationSpec {
    let kind = MutationKind::Http;
    MutationSpec { key: key.to_owned(), kind, probe: true, ..MutationSpec::default() }
}

pub(crate) fn unknown(code: Code) -> EffectOutcome {
    EffectOutcome::Unknown { fault: fault(code) }
}
