//! The changes that a batch makes in the tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use unstuck_core::engine::{
    BuildId, Event, EventIds, MutationId, QuestionId, Reconciled, RecordedEvent, RunId, State,
    Subject, TaskId,
};
use unstuck_core::plan::{GateKey, TaskSpec};
use unstuck_core::signature::Signature;
use unstuck_core::time::Time;

use super::limits::{CostRow, GateRow, SignatureRow};
use super::mutation::{MutationChange, MutationStatus};
use super::question::{QuestionChange, QuestionEnding, QuestionRow, QuestionStatus};
use super::work::{BuildRow, RunChange, RunEnd, RunStatus, TaskChange, TaskRow};

/// The changes that a batch makes in the tables. Each item appears at most once per list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableChanges {
    /// Builds in their current state.
    pub builds: Vec<BuildRow>,
    /// New tasks.
    pub new_tasks: Vec<TaskRow>,
    /// Changed tasks.
    pub tasks: Vec<(TaskId, TaskChange)>,
    /// New and changed runs.
    pub runs: Vec<RunChange>,
    /// New and changed questions.
    pub questions: Vec<QuestionChange>,
    /// Changes of actions, in order; an action may appear more than once.
    pub mutations: Vec<MutationChange>,
    /// Gates in their current state.
    pub gates: Vec<GateRow>,
    /// Errors with their current counts.
    pub signatures: Vec<SignatureRow>,
    /// Additional costs.
    pub costs: Vec<CostRow>,
    /// Tasks whose conversation is over, so that its checkpoint is deleted.
    pub conversations_over: BTreeSet<TaskId>,
}

impl TableChanges {
    /// Computes the changes of `events`, which have been applied to `state`.
    pub fn from_events(state: &State, events: &[RecordedEvent]) -> Self {
        let mut draft =
            TableChangesBuilder { state, touched: TouchedIds::default(), changes: Self::default() };
        for recorded in events {
            draft.note_event(recorded);
        }
        match events.last() {
            Some(last) => draft.finish(last.at),
            None => draft.changes,
        }
    }
}

/// The items to look up in the state after all events are read.
#[derive(Default)]
struct TouchedIds {
    builds: BTreeSet<BuildId>,
    tasks: BTreeSet<TaskId>,
    new_tasks: BTreeSet<TaskId>,
    questions: BTreeSet<QuestionId>,
    gates: BTreeSet<GateKey>,
    signatures: BTreeSet<Signature>,
}

struct TableChangesBuilder<'a> {
    state: &'a State,
    touched: TouchedIds,
    changes: TableChanges,
}

impl TableChangesBuilder<'_> {
    fn note_event(&mut self, recorded: &RecordedEvent) {
        let EventIds { build, task, run } = recorded.event.subject_ids();
        self.touched.builds.extend(build);
        self.touched.tasks.extend(task);
        self.touched.tasks.extend(run.and_then(|run| self.state.run(run)).map(|run| run.task));
        let at = recorded.at;
        self.note_plan(&recorded.event);
        self.note_run(&recorded.event, at);
        self.note_question(&recorded.event, at);
        self.note_mutation(&recorded.event, at);
        self.note_gate(&recorded.event);
        self.note_signature(&recorded.event);
        self.note_conversation(&recorded.event);
    }

    fn note_plan(&mut self, event: &Event) {
        match event {
            Event::BuildStarted { build, .. } => {
                let tasks = self.state.build(*build).map(|build| &build.tasks);
                self.touched.new_tasks.extend(tasks.into_iter().flatten());
            }
            Event::JobDefined { task, .. } => {
                self.touched.new_tasks.insert(*task);
            }
            _ => {}
        }
    }

    fn entry_for_run(&mut self, id: RunId) -> &mut RunChange {
        let known = self.changes.runs.iter().rposition(|change| change.id == id);
        let at = known.unwrap_or_else(|| {
            self.changes.runs.push(RunChange::new(id));
            self.changes.runs.len() - 1
        });
        &mut self.changes.runs[at]
    }

    fn note_run(&mut self, event: &Event, at: Time) {
        match event {
            Event::RunStarted { run, task, retry_of, next } => {
                let change = self.entry_for_run(*run);
                change.began = Some((*task, *retry_of, at));
                change.phase = Some(next.phase);
            }
            Event::RunPhase { run, phase } => self.entry_for_run(*run).phase = Some(*phase),
            Event::RunPaused { run, status, .. } => {
                self.entry_for_run(*run).status = Some(RunStatus::Standing(*status));
            }
            Event::RunResumed { run, .. } => {
                let status = unstuck_core::engine::Status::Active;
                self.entry_for_run(*run).status = Some(RunStatus::Standing(status));
            }
            Event::RunFailed { run, status, .. } => {
                self.end_run(*run, RunStatus::Standing(*status), at);
            }
            Event::RunCommitted { run } => {
                self.end_run(*run, RunStatus::Over(RunEnd::Committed), at);
            }
            Event::RunCrashed { run, .. } => {
                self.end_run(*run, RunStatus::Over(RunEnd::Crashed), at);
            }
            Event::RunCancelled { run, .. } => {
                self.end_run(*run, RunStatus::Over(RunEnd::Cancelled), at);
            }
            Event::FaultMet { run, fault, .. } => {
                self.entry_for_run(*run).fault = Some(Arc::clone(fault));
            }
            Event::RunProgress { run, iterations, tool_calls, .. } => {
                let change = self.entry_for_run(*run);
                change.iterations = change.iterations.saturating_add(*iterations);
                change.tool_calls = change.tool_calls.saturating_add(*tool_calls);
            }
            Event::BudgetUpdated { task, run, spent, day, .. } if !spent.is_zero() => {
                let change = self.entry_for_run(*run);
                change.spent = change.spent.saturating_add(*spent);
                self.add_cost(CostRow { day: *day, task: *task, spent: *spent });
            }
            _ => {}
        }
    }

    fn end_run(&mut self, run: RunId, status: RunStatus, at: Time) {
        let change = self.entry_for_run(run);
        change.status = Some(status);
        change.ended_at = Some(at);
    }

    fn add_cost(&mut self, cost: CostRow) {
        let same = |known: &&mut CostRow| known.day == cost.day && known.task == cost.task;
        match self.changes.costs.iter_mut().find(same) {
            Some(known) => known.spent = known.spent.saturating_add(cost.spent),
            None => self.changes.costs.push(cost),
        }
    }

    fn note_question(&mut self, event: &Event, at: Time) {
        match event {
            Event::QuestionAsked { question } => {
                self.touched.questions.insert(question.id);
                if let Subject::Build(build) = question.subject {
                    self.touched.builds.insert(build);
                }
            }
            Event::QuestionJoined { question, .. } => {
                self.touched.questions.insert(*question);
            }
            // The text of a question says whether other work continues meanwhile.
            Event::BuildWaiting { build }
            | Event::BuildPaused { build, .. }
            | Event::BuildResumed { build } => {
                let state = self.state;
                let of_build =
                    |task: &TaskId| state.task(*task).is_some_and(|task| task.build == *build);
                let open = state.questions();
                let open = open.filter(|question| question.tasks.first().is_some_and(of_build));
                self.touched.questions.extend(open.map(|question| question.id));
            }
            Event::QuestionResolved { question, decision, end, guidance, by, .. } => {
                let ended = QuestionEnding {
                    status: (*end).into(),
                    decision: Some(*decision),
                    guidance: guidance.clone(),
                    by: Some(Arc::clone(by)),
                    at,
                };
                self.end_question(*question, ended);
            }
            Event::QuestionWithdrawn { question } => {
                let status = QuestionStatus::Withdrawn;
                let ended = QuestionEnding { status, decision: None, guidance: None, by: None, at };
                self.end_question(*question, ended);
            }
            _ => {}
        }
    }

    fn end_question(&mut self, id: QuestionId, ended: QuestionEnding) {
        self.changes.questions.push(QuestionChange { id, asked: None, ended: Some(ended) });
    }

    fn note_mutation(&mut self, event: &Event, at: Time) {
        let change_to = |id: &MutationId, status: MutationStatus| MutationChange {
            id: *id,
            intended: None,
            run: None,
            status,
            result: None,
            at,
        };
        let change = match event {
            Event::MutationIntended { mutation, run, spec } => {
                let Some(known) = self.state.mutation(*mutation) else {
                    debug_assert!(false, "{mutation} is intended and not in the ledger");
                    return;
                };
                MutationChange {
                    intended: Some((known.task, Arc::clone(spec), at)),
                    run: Some(*run),
                    ..change_to(mutation, MutationStatus::Intended)
                }
            }
            Event::MutationInFlight { mutation, run } => {
                MutationChange { run: Some(*run), ..change_to(mutation, MutationStatus::InFlight) }
            }
            Event::MutationProbing { mutation, .. } => change_to(mutation, MutationStatus::Probing),
            Event::MutationSettling { mutation, .. } => {
                change_to(mutation, MutationStatus::Settling)
            }
            Event::MutationApplied { mutation, result } => MutationChange {
                result: Some(Arc::clone(result)),
                ..change_to(mutation, MutationStatus::Applied)
            },
            Event::MutationFailed { mutation } => change_to(mutation, MutationStatus::Failed),
            Event::MutationIndeterminate { mutation, .. } => {
                change_to(mutation, MutationStatus::Indeterminate)
            }
            Event::MutationReconciled { mutation, to, result } => {
                let status = match to {
                    Reconciled::Applied => MutationStatus::Applied,
                    Reconciled::NotApplied => MutationStatus::NotApplied,
                    Reconciled::Skipped => MutationStatus::Skipped,
                };
                MutationChange { result: Some(Arc::clone(result)), ..change_to(mutation, status) }
            }
            _ => return,
        };
        self.changes.mutations.push(change);
    }

    fn note_gate(&mut self, event: &Event) {
        let gate = match event {
            Event::GateWaiting { gate, .. }
            | Event::GateProbing { gate, .. }
            | Event::GatePassing { gate, .. }
            | Event::GateReleased { gate, .. }
            | Event::GateGivenUp { gate } => Some(*gate),
            Event::TaskBackingOff { gate, .. } => *gate,
            _ => None,
        };
        self.touched.gates.extend(gate);
    }

    fn note_signature(&mut self, event: &Event) {
        match event {
            Event::FaultMet { fault, .. } => {
                self.touched.signatures.insert(fault.signature);
            }
            Event::Retrying { signature, .. }
            | Event::Forgotten { signature: Some(signature) }
            | Event::QuestionResolved { subject: Subject::Error(signature), .. } => {
                self.touched.signatures.insert(*signature);
            }
            Event::Checked { checked, .. } => {
                self.touched.signatures.extend(checked.flaky_signatures());
            }
            Event::Recovered { signatures, .. } => self.touched.signatures.extend(signatures),
            Event::Forgotten { signature: None } => {
                let all = self.state.signatures().iter().map(|(signature, _)| signature);
                self.touched.signatures.extend(all);
            }
            _ => {}
        }
    }

    /// Notes the task whose conversation an event ends because a new one begins. The end of the task itself
    /// is seen in its state.
    fn note_conversation(&mut self, event: &Event) {
        let task = match event {
            Event::RunStarted { task, next, .. } => next.step.begins_anew().then_some(*task),
            Event::RunResumed { run, step } | Event::RunStep { run, step }
                if step.begins_anew() =>
            {
                self.state.run(*run).map(|run| run.task)
            }
            _ => None,
        };
        self.changes.conversations_over.extend(task);
    }

    /// Collects everything touched and still known, in its current state.
    fn finish(self, at: Time) -> TableChanges {
        let Self { state, mut touched, mut changes } = self;
        for id in touched.tasks.iter().chain(&touched.new_tasks) {
            touched.builds.extend(state.task(*id).map(|task| task.build));
        }
        let builds = touched.builds.iter().filter_map(|id| state.build(*id));
        changes.builds.extend(builds.map(|build| BuildRow::from_build(build, at)));
        for task in touched.new_tasks.iter().filter_map(|id| state.task(*id)) {
            let spec = Arc::<TaskSpec>::clone(&task.spec);
            let moved = TaskChange::from_task(task, at);
            changes.new_tasks.push(TaskRow { id: task.id, build: task.build, spec, moved });
        }
        let moved = touched.tasks.difference(&touched.new_tasks);
        for task in moved.filter_map(|id| state.task(*id)) {
            if task.state.has_ended() {
                changes.conversations_over.insert(task.id);
            }
            changes.tasks.push((task.id, TaskChange::from_task(task, at)));
        }
        for question in touched.questions.iter().filter_map(|id| state.question(*id)) {
            let asked = Some(Box::new(QuestionRow::from_question(state, question, at)));
            changes.questions.push(QuestionChange { id: question.id, asked, ended: None });
        }
        let gates = touched.gates.iter().filter_map(|key| Some((*key, state.gate(*key)?)));
        changes.gates.extend(gates.map(|(key, gate)| GateRow::from_gate(key, gate, at)));
        let known = touched.signatures.iter();
        let known = known.filter_map(|s| Some((*s, state.signatures().get(*s)?)));
        changes.signatures.extend(known.map(|(s, record)| SignatureRow::from_record(s, record)));
        changes
    }
}
