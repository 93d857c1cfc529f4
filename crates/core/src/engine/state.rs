//! The state of one project: the result of replaying its journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::build::Build;
use super::gate::AccountGate;
use super::ids::{BuildId, EffectId, IdTable, MutationId, QuestionId, RunId, TaskId};
use super::invariant::BrokenInvariant;
use super::ledger::{KeyTaken, Ledger, Mutation};
use super::question::{Question, QuestionEnd, Subject};
use super::run::{Run, Step};
use super::setbacks::UnfinishedTasks;
use super::signatures::Signatures;
use super::task::{Task, TaskState};
use crate::fault::Charge;
use crate::plan::{GateKey, MutationSpec, Request};
use crate::policy::Amount;
use crate::question::Decision;
use crate::signature::Signature;
use crate::time::Time;

/// The state of one project. It changes only by [`apply`](State::apply)ing events, so replaying
/// the journal gives the same state again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub(super) project: Arc<str>,
    pub(super) seq: u64,
    pub(super) builds: BTreeMap<BuildId, Build>,
    pub(super) tasks: IdTable<TaskId, Task>,
    pub(super) runs: IdTable<RunId, Run>,
    pub(super) signatures: Signatures,
    #[serde(default, skip_serializing_if = "UnfinishedTasks::is_empty")]
    pub(super) unfinished: UnfinishedTasks,
    pub(super) gates: BTreeMap<GateKey, AccountGate>,
    pub(super) questions: BTreeMap<QuestionId, Question>,
    #[serde(with = "super::ids::pairs")]
    pub(super) subjects: BTreeMap<Subject, QuestionId>,
    /// The end of each question, by its id; `None` while it is open.
    pub(super) question_ends: Vec<Option<QuestionEnd>>,
    pub(super) ledger: Ledger,
    /// The run or action that waits for each effect; the ids are in the order of the requests.
    pub(super) owed: IdTable<EffectId, EffectWaiter>,
    pub(super) timers: BTreeSet<(Time, EngineTimer)>,
    /// The refusals that the operator lifted permanently.
    pub(super) allowed: BTreeSet<Signature>,
    /// The commands that the operator allowed permanently.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) allowed_commands: BTreeSet<String>,
    pub(super) jobs: Option<BuildId>,
    /// The latest requests that were carried out.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(super) requests: VecDeque<HandledRequest>,
    pub(super) day: DaySpending,
    pub(super) ids: NextIds,
    /// Builds that changed since they were last scheduled; not part of the persistent state.
    #[serde(skip)]
    pub(super) stirred: Vec<BuildId>,
    /// The first invariant that a decision broke; not part of the persistent state.
    #[serde(skip)]
    pub(super) broken: Option<BrokenInvariant>,
}

/// The run or action that waits for an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EffectWaiter {
    Run(RunId),
    Mutation(MutationId),
}

/// A request that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandledRequest {
    /// The request, with its idempotency key.
    pub request: Request,
    /// The build that the request was about, or that it started.
    pub build: Option<BuildId>,
}

/// The subject of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EngineTimer {
    Task(TaskId),
    Gate(GateKey),
    Release(GateKey),
    Build(BuildId),
    Mutation(MutationId),
}

/// The project's cost of the current day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DaySpending {
    pub(super) number: u64,
    pub(super) spent: Amount,
    pub(super) reserved: Amount,
}

/// The next free id of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NextIds {
    pub(super) build: u32,
    pub(super) task: u32,
    pub(super) run: u64,
    pub(super) mutation: u64,
}

impl State {
    /// Creates the state of a project with an empty journal.
    pub fn new(project: impl Into<Arc<str>>) -> Self {
        Self {
            project: project.into(),
            seq: 0,
            builds: BTreeMap::new(),
            tasks: IdTable::default(),
            runs: IdTable::default(),
            signatures: Signatures::default(),
            unfinished: UnfinishedTasks::default(),
            gates: BTreeMap::new(),
            questions: BTreeMap::new(),
            subjects: BTreeMap::new(),
            question_ends: Vec::new(),
            ledger: Ledger::default(),
            owed: IdTable::default(),
            timers: BTreeSet::new(),
            allowed: BTreeSet::new(),
            allowed_commands: BTreeSet::new(),
            jobs: None,
            requests: VecDeque::new(),
            day: DaySpending::default(),
            ids: NextIds::default(),
            stirred: Vec::new(),
            broken: None,
        }
    }

    /// Returns the project's name.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Returns the position of the last event.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the invariant that a decision broke since the last call, if any.
    pub fn take_broken_invariant(&mut self) -> Option<BrokenInvariant> {
        self.broken.take()
    }

    /// Returns the time at which the next timer is due, if there is one.
    pub fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Returns the build with this id.
    pub fn build(&self, id: BuildId) -> Option<&Build> {
        self.builds.get(&id)
    }

    /// Returns the task that has begun in the user's own tree and has not ended, if the build works
    /// there.
    pub fn tree_taken_by(&self, build: &Build) -> Option<&Task> {
        let tasks = build.tasks.iter().filter(|_| build.in_place);
        let mut tasks = tasks.filter_map(|id| self.task(*id));
        tasks.find(|task| task.last_run.is_some() && !task.state.has_ended())
    }

    /// Returns whether the build makes progress without the operator.
    pub fn can_proceed(&self, build: &Build) -> bool {
        build.can_proceed(self.tree_taken_by(build).map(|task| task.id))
    }

    /// Returns all builds that the state holds.
    pub fn builds(&self) -> impl Iterator<Item = &Build> {
        self.builds.values()
    }

    /// Returns the task with this id.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id)
    }

    /// Returns all tasks that the state holds, in the order of their ids.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter_sorted().map(|(_, task)| task)
    }

    /// Returns the standing build that all jobs belong to, once there is a job.
    pub const fn jobs_build(&self) -> Option<BuildId> {
        self.jobs
    }

    /// Returns the request with this idempotency key, if it was carried out.
    pub fn handled_request(&self, key: &str) -> Option<&HandledRequest> {
        self.requests.iter().find(|taken| &*taken.request.key == key)
    }

    /// Returns the job with this name.
    pub fn job(&self, name: &str) -> Option<&Task> {
        let jobs = &self.build(self.jobs?)?.tasks;
        jobs.iter().filter_map(|id| self.task(*id)).find(|task| task.spec.name == name)
    }

    /// Returns the run with this id, if it is active or can continue.
    pub fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.get(&id)
    }

    /// Returns all runs that are active or can continue, in the order of their ids.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter_sorted().map(|(_, run)| run)
    }

    /// Returns the open question with this id.
    pub fn question(&self, id: QuestionId) -> Option<&Question> {
        self.questions.get(&id)
    }

    /// Returns all open questions.
    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.values()
    }

    /// Returns the open question about this subject.
    pub fn question_about(&self, subject: Subject) -> Option<&Question> {
        self.questions.get(self.subjects.get(&subject)?)
    }

    /// Returns the gate with this key.
    pub fn gate(&self, key: GateKey) -> Option<&AccountGate> {
        self.gates.get(&key)
    }

    /// Returns the action with this id.
    pub fn mutation(&self, id: MutationId) -> Option<&Mutation> {
        self.ledger.mutations.get(&id)
    }

    /// Returns whether an action with this key may have happened although its record was lost.
    pub fn is_doubted(&self, key: &str) -> bool {
        self.ledger.doubted.contains_key(key)
    }

    /// Returns the action that a task sees under a key: its own, or one whose key holds for the
    /// whole project.
    pub fn action(&self, task: TaskId, key: &str) -> Option<&Mutation> {
        self.own_action(self.task(task)?, key).or_else(|| self.permanent_action(key))
    }

    /// Returns the task's action of this specification, or the project's if its key is permanent.
    pub(super) fn find_action(&self, task: &Task, spec: &MutationSpec) -> Option<&Mutation> {
        if spec.permanent {
            self.permanent_action(&spec.key)
        } else {
            self.own_action(task, &spec.key)
        }
    }

    /// Returns the action of this specification, if it is known. The key may belong to an action with
    /// other arguments, which is an error unless that one did not happen.
    pub(super) fn find_same_action(
        &self,
        task: &Task,
        spec: &MutationSpec,
    ) -> Result<Option<&Mutation>, KeyTaken> {
        match self.find_action(task, spec) {
            Some(known) if known.spec.arguments == spec.arguments => Ok(Some(known)),
            Some(other) if !other.leaves_key_free() => Err(KeyTaken),
            _ => Ok(None),
        }
    }

    fn own_action(&self, task: &Task, key: &str) -> Option<&Mutation> {
        // A task has a handful of actions: a linear search is the fastest way.
        let mut known = task.ledger.iter().filter_map(|id| self.mutation(*id));
        known
            .find(|known| known.spec.key == key && known.occurrence == task.occurrence(&known.spec))
    }

    /// Returns the task's actions that may have happened without a known outcome.
    pub(super) fn open_actions(&self, task: TaskId) -> impl Iterator<Item = MutationId> {
        let ledger = self.task(task).into_iter().flat_map(|task| &task.ledger);
        let open = ledger.filter_map(|id| self.mutation(*id)).filter(|known| known.state.is_open());
        open.map(|known| known.id)
    }

    /// Returns whether the outcome of one of the task's actions is unknown.
    pub(super) fn has_open_action(&self, task: TaskId) -> bool {
        self.open_actions(task).next().is_some()
    }

    /// Returns the action with this key, if the key holds for the whole project.
    pub fn permanent_action(&self, key: &str) -> Option<&Mutation> {
        self.ledger.mutations.get(self.ledger.permanent.get(key)?)
    }

    /// Returns all actions that still matter, in the order of their ids.
    pub fn mutations(&self) -> impl Iterator<Item = &Mutation> {
        self.ledger.mutations.iter_sorted().map(|(_, mutation)| mutation)
    }

    /// Returns the records of the project's errors.
    pub const fn signatures(&self) -> &Signatures {
        &self.signatures
    }

    /// Returns whether the operator allowed, for this task, what the signature stands for.
    pub fn allows_signature(&self, task: TaskId, signature: Signature) -> bool {
        self.allowed.contains(&signature)
            || self.task(task).is_some_and(|task| task.allowance == Some(signature))
    }

    /// Returns whether the operator wants the task done without what the signature stands for.
    pub fn must_do_without(&self, task: TaskId, signature: Signature) -> bool {
        self.task(task).is_some_and(|task| {
            let said = task.guidance.as_ref().map(|guidance| guidance.decision);
            let asked = task.setbacks.answered.as_ref().map(|fault| fault.signature);
            said == Some(Decision::ProvideGuidance) && asked == Some(signature)
        })
    }

    /// Returns whether the task is parked over a fault that may have passed by itself since.
    pub fn is_parked_over_transient(&self, task: &Task) -> bool {
        let TaskState::Parked { question, run: None } = task.state else { return false };
        let fault = self.question(question).and_then(|asked| asked.fault.as_ref());
        fault.is_some_and(|fault| fault.charges(task.work()).contains(&Charge::Transient))
    }

    /// Returns the commands that the operator allowed beside the rules: permanently, or for this
    /// task's run.
    pub fn allowed_commands(&self, task: TaskId) -> BTreeSet<String> {
        let once = self.task(task).map_or(&[][..], |task| &task.allowed_commands);
        self.allowed_commands.iter().chain(once).cloned().collect()
    }

    /// Returns the amount that the project has spent today.
    pub const fn spent_today(&self) -> Amount {
        self.day.spent
    }

    /// Returns the maximum cost of the project's calls in progress today.
    pub const fn reserved_today(&self) -> Amount {
        self.day.reserved
    }

    /// Returns the action that the run is at.
    pub(super) fn mutation_at(&self, run: RunId) -> Option<MutationId> {
        let run = self.run(run)?;
        let Step::Mutate { at } = run.step else { return None };
        let task = self.task(run.task)?;
        let spec = task.action_at(at)?;
        Some(self.find_action(task, spec)?.id)
    }

    pub(super) fn reschedule_build(&mut self, build: BuildId) {
        if !self.stirred.contains(&build) {
            self.stirred.push(build);
        }
    }
}
