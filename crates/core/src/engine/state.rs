//! The state of one project: what the journal adds up to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::build::Build;
use super::effect::Effect;
use super::gate::Gate;
use super::ids::{BuildId, EffectId, MutationId, QuestionId, RunId, TaskId};
use super::ledger::{Ledger, Mutation};
use super::question::{Question, QuestionEnd, Subject};
use super::run::{Run, Step};
use super::setbacks::Unfinished;
use super::signatures::Signatures;
use super::table::Table;
use super::task::{Task, TaskState};
use crate::fault::Charge;
use crate::plan::{GateKey, Request};
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
    pub(super) tasks: Table<TaskId, Task>,
    pub(super) runs: Table<RunId, Run>,
    pub(super) signatures: Signatures,
    #[serde(default, skip_serializing_if = "Unfinished::is_empty")]
    pub(super) unfinished: Unfinished,
    pub(super) gates: BTreeMap<GateKey, Gate>,
    pub(super) questions: BTreeMap<QuestionId, Question>,
    #[serde(with = "super::pairs")]
    pub(super) subjects: BTreeMap<Subject, QuestionId>,
    /// How each question ended, by its id; none while it is open.
    pub(super) question_ends: Vec<Option<QuestionEnd>>,
    pub(super) ledger: Ledger,
    /// Who waits for which effect, in the order they were asked for.
    pub(super) owed: Table<EffectId, Owner>,
    pub(super) timers: BTreeSet<(Time, Timer)>,
    /// What a person allowed for good.
    pub(super) allowed: BTreeSet<Signature>,
    /// The commands among that.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) allowed_commands: BTreeSet<String>,
    pub(super) jobs: Option<BuildId>,
    /// The latest requests that something was done for.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(super) requests: VecDeque<Taken>,
    pub(super) day: Day,
    pub(super) ids: NextIds,
    /// Builds that something happened to since the last look; not part of what is remembered.
    #[serde(skip)]
    pub(super) stirred: Vec<BuildId>,
}

/// Who waits for an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Owner {
    Run(RunId),
    Mutation(MutationId),
}

/// A request that something was done for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The request.
    pub request: Request,
    /// The build it was about, or that it started.
    pub build: Option<BuildId>,
}

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Timer {
    Task(TaskId),
    Gate(GateKey),
    Release(GateKey),
    Build(BuildId),
    Mutation(MutationId),
}

/// What the project has spent today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Day {
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
    /// A project that nothing has happened in.
    pub fn new(project: impl Into<Arc<str>>) -> Self {
        Self {
            project: project.into(),
            seq: 0,
            builds: BTreeMap::new(),
            tasks: Table::default(),
            runs: Table::default(),
            signatures: Signatures::default(),
            unfinished: Unfinished::default(),
            gates: BTreeMap::new(),
            questions: BTreeMap::new(),
            subjects: BTreeMap::new(),
            question_ends: Vec::new(),
            ledger: Ledger::default(),
            owed: Table::default(),
            timers: BTreeSet::new(),
            allowed: BTreeSet::new(),
            allowed_commands: BTreeSet::new(),
            jobs: None,
            requests: VecDeque::new(),
            day: Day::default(),
            ids: NextIds::default(),
            stirred: Vec::new(),
        }
    }

    /// The project's name.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// The position of the last event.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// When something happens next by itself.
    pub fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// A build.
    pub fn build(&self, id: BuildId) -> Option<&Build> {
        self.builds.get(&id)
    }

    /// The task of a build in the user's own tree that has begun there and has not come to its end.
    pub fn tree_taken_by(&self, build: &Build) -> Option<&Task> {
        let tasks = build.tasks.iter().filter(|_| build.in_place);
        let mut tasks = tasks.filter_map(|id| self.task(*id));
        tasks.find(|task| task.last_run.is_some() && !task.state.has_ended())
    }

    /// Whether something of a build goes on by itself.
    pub fn goes_on(&self, build: &Build) -> bool {
        build.goes_on(self.tree_taken_by(build).map(|task| task.id))
    }

    /// All builds that are remembered.
    pub fn builds(&self) -> impl Iterator<Item = &Build> {
        self.builds.values()
    }

    /// A task.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id)
    }

    /// All tasks that are remembered.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.sorted().map(|(_, task)| task)
    }

    /// The build that all jobs live in, once there is a job.
    pub const fn jobs(&self) -> Option<BuildId> {
        self.jobs
    }

    /// What was done for the request with this key.
    pub fn taken(&self, key: &str) -> Option<&Taken> {
        self.requests.iter().find(|taken| &*taken.request.key == key)
    }

    /// The job with this name.
    pub fn job(&self, name: &str) -> Option<&Task> {
        let jobs = &self.build(self.jobs?)?.tasks;
        jobs.iter().filter_map(|id| self.task(*id)).find(|task| task.spec.name == name)
    }

    /// A run that is at work or can go on.
    pub fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.get(&id)
    }

    /// All runs that are at work or can go on.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.sorted().map(|(_, run)| run)
    }

    /// An open question.
    pub fn question(&self, id: QuestionId) -> Option<&Question> {
        self.questions.get(&id)
    }

    /// All open questions.
    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.values()
    }

    /// The open question about something.
    pub fn question_about(&self, subject: Subject) -> Option<&Question> {
        self.questions.get(self.subjects.get(&subject)?)
    }

    /// A gate.
    pub fn gate(&self, key: GateKey) -> Option<&Gate> {
        self.gates.get(&key)
    }

    /// An action.
    pub fn mutation(&self, id: MutationId) -> Option<&Mutation> {
        self.ledger.mutations.get(&id)
    }

    /// Whether an action with this key may have happened whose record was lost.
    pub fn is_doubted(&self, key: &str) -> bool {
        self.ledger.doubted.contains_key(key)
    }

    /// The action that a task sees under a key: its own, or one that holds for the whole project.
    pub fn action(&self, task: TaskId, key: &str) -> Option<&Mutation> {
        let own = self.ledger.find_key(self.task(task)?, false, key);
        own.or_else(|| self.permanent_action(key))
    }

    /// The action whose key counts for the whole project.
    pub fn permanent_action(&self, key: &str) -> Option<&Mutation> {
        self.ledger.mutations.get(self.ledger.permanent.get(key)?)
    }

    /// All actions that still matter.
    pub fn mutations(&self) -> impl Iterator<Item = &Mutation> {
        self.ledger.mutations.sorted().map(|(_, mutation)| mutation)
    }

    /// What is known about the project's errors.
    pub const fn signatures(&self) -> &Signatures {
        &self.signatures
    }

    /// Whether a person allowed what this signature stands for, for this task.
    pub fn allows(&self, task: TaskId, signature: Signature) -> bool {
        self.allowed.contains(&signature)
            || self.task(task).is_some_and(|task| task.allowance == Some(signature))
    }

    /// Whether a person wants a task done without what this signature stands for.
    pub fn goes_without(&self, task: TaskId, signature: Signature) -> bool {
        self.task(task).is_some_and(|task| {
            let said = task.guidance.as_ref().map(|guidance| guidance.decision);
            let asked = task.setbacks.answered.as_ref().map(|fault| fault.signature);
            said == Some(Decision::ProvideGuidance) && asked == Some(signature)
        })
    }

    /// Whether a task rests over a question about something that may have passed by itself since.
    pub fn rests_over_what_passes(&self, task: &Task) -> bool {
        let TaskState::Parked { question, run: None } = task.state else { return false };
        let fault = self.question(question).and_then(|asked| asked.fault.as_ref());
        fault.is_some_and(|fault| fault.code().charges(task.work()).contains(&Charge::Transient))
    }

    /// The commands that a person allowed beside the rules: for good, or for this task's run.
    pub fn allowed_commands(&self, task: TaskId) -> BTreeSet<String> {
        let once = self.task(task).map_or(&[][..], |task| &task.allowed_commands);
        self.allowed_commands.iter().chain(once).cloned().collect()
    }

    /// What the project has spent today.
    pub const fn spent_today(&self) -> Amount {
        self.day.spent
    }

    /// What the project's running calls may still cost today.
    pub const fn reserved_today(&self) -> Amount {
        self.day.reserved
    }

    /// Everything the outside owes, oldest first. At a start this is the truth.
    pub fn outstanding(&self) -> Vec<Effect> {
        self.owed.sorted().filter_map(|(id, _)| self.effect(id)).collect()
    }

    /// The action a run is at.
    pub(super) fn mutation_at(&self, run: RunId) -> Option<MutationId> {
        let run = self.run(run)?;
        let Step::Mutate { at } = run.step else { return None };
        let task = self.task(run.task)?;
        let spec = task.action(at)?;
        Some(self.ledger.find(task, spec)?.id)
    }

    pub(super) fn stir(&mut self, build: BuildId) {
        if !self.stirred.contains(&build) {
            self.stirred.push(build);
        }
    }
}
