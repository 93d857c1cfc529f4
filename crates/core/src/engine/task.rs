//! Tasks: one unit of work each. A job is a task that is fired repeatedly.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::apart::Exclusivity;
use super::checked::Checked;
use super::ids::{BuildId, MutationId, QuestionId, RunId, TaskId};
use super::ledger::Occurrence;
use super::run::{Next, Operation, Start};
use super::setbacks::{Repairs, Setbacks};
use super::signatures::Signatures;
use crate::attempt::Approach;
use crate::fault::{Code, Fault, Work};
use crate::plan::{GateKey, MutationSpec, Request, TaskSpec};
use crate::policy::Amount;
use crate::question::Decision;
use crate::signature::Signature;
use crate::time::Time;

/// The state of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TaskState {
    /// Waiting for the tasks that it needs, or for a free slot.
    Pending {
        /// The paused run that continues, if there is one.
        run: Option<RunId>,
    },
    /// A run is at work.
    Running {
        /// The run that is at work.
        run: RunId,
    },
    /// Waiting for a time or at a gate.
    BackingOff {
        /// Time at which the wait ends.
        until: Option<Time>,
        /// The gate that it waits at.
        gate: Option<GateKey>,
        /// The paused run that continues, if there is one.
        run: Option<RunId>,
    },
    /// Waiting for the operator.
    Parked {
        /// The question whose answer it waits for.
        question: QuestionId,
        /// The paused run that continues, if there is one.
        run: Option<RunId>,
    },
    /// Waiting until the outcome of an action is known.
    Reconciling {
        /// The run that performed the action.
        run: RunId,
    },
    /// Done.
    Done,
    /// Skipped.
    Skipped {
        /// The reason.
        left: SkipReason,
    },
    /// Failed permanently.
    Failed {
        /// The code of the fault.
        code: Code,
    },
    /// Cancelled with its build.
    Cancelled,
}

/// A task's state without its fields; builds count their tasks by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the states")]
pub enum TaskStateKind {
    Pending,
    Running,
    BackingOff,
    Parked,
    Reconciling,
    Done,
    Skipped,
    Failed,
    Cancelled,
}

impl TaskStateKind {
    /// Number of states.
    pub const COUNT: usize = 9;

    /// Returns the state in words, for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::BackingOff => "backing off",
            Self::Parked => "waiting for a person",
            Self::Reconciling => "reconciling",
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl TaskState {
    /// Returns the state without its fields.
    pub const fn kind(&self) -> TaskStateKind {
        match self {
            Self::Pending { .. } => TaskStateKind::Pending,
            Self::Running { .. } => TaskStateKind::Running,
            Self::BackingOff { .. } => TaskStateKind::BackingOff,
            Self::Parked { .. } => TaskStateKind::Parked,
            Self::Reconciling { .. } => TaskStateKind::Reconciling,
            Self::Done => TaskStateKind::Done,
            Self::Skipped { .. } => TaskStateKind::Skipped,
            Self::Failed { .. } => TaskStateKind::Failed,
            Self::Cancelled => TaskStateKind::Cancelled,
        }
    }

    /// Returns whether nothing more happens to the task by itself.
    pub const fn has_ended(&self) -> bool {
        match self {
            Self::Done | Self::Skipped { .. } | Self::Failed { .. } | Self::Cancelled => true,
            Self::Pending { .. }
            | Self::Running { .. }
            | Self::BackingOff { .. }
            | Self::Parked { .. }
            | Self::Reconciling { .. } => false,
        }
    }

    /// Returns the run that is at work or can continue.
    pub const fn run(&self) -> Option<RunId> {
        match self {
            Self::Pending { run } | Self::BackingOff { run, .. } | Self::Parked { run, .. } => *run,
            Self::Running { run } | Self::Reconciling { run } => Some(*run),
            Self::Done | Self::Skipped { .. } | Self::Failed { .. } | Self::Cancelled => None,
        }
    }
}

/// The reason why a task was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Left"))]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum SkipReason {
    /// The operator decided so.
    Decided,
    /// The operator did not allow what the task needs.
    Denied,
    /// The task needs another one that was skipped or failed.
    Needs {
        /// The needed task.
        task: TaskId,
    },
}

/// The operator's answer to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guidance {
    /// The chosen option.
    pub decision: Decision,
    /// The operator's own words, if any.
    pub text: Option<Arc<str>>,
}

/// A permission that the operator gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allowance {
    /// The refusal that it lifts.
    pub signature: Signature,
    /// True if it holds for the whole project from now on, not for this one run.
    pub always: bool,
    /// The commands that may be run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// Failures of one operation along its chain of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transient {
    /// Number of failures in a row.
    pub count: u32,
    /// Time of the first of them.
    pub since: Time,
}

/// The failures of a scheduled job that has not succeeded since it met a transient failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailures {
    /// Number of firings in a row that gave up.
    pub firings: u32,
    /// Time at which the failures began.
    pub since: Time,
}

/// An action that an agent was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// The command, or another description of the action.
    pub what: Arc<str>,
    /// The reason for the refusal.
    pub why: Arc<str>,
}

/// The tries that a task has charged to an error and can give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargedTries {
    /// The error.
    pub signature: Signature,
    /// Generation of the error's counter: a reset starts another one.
    pub life: u32,
    /// Number of tries.
    pub count: u32,
}

/// A task's own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// Faults in a row, of any kind.
    pub consecutive: u32,
    /// Crashes in a row.
    pub crashes: u32,
    /// Number of times the conversation was compacted.
    pub compactions: u32,
    /// Faults of a job that called for a repair.
    pub repairs: u32,
    /// Failures in a row of a git operation.
    pub git: u32,
    /// Transient failures in a row, by operation.
    pub transient: [Transient; Operation::COUNT],
}

/// A unit of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The task's id.
    pub id: TaskId,
    /// The build that the task belongs to.
    pub build: BuildId,
    /// The specification of the task.
    pub spec: Arc<TaskSpec>,
    /// The tasks that it may run beside.
    #[serde(default, skip_serializing_if = "Exclusivity::is_everyone")]
    pub beside: Exclusivity,
    /// The current state.
    pub state: TaskState,
    /// The tasks that need this one.
    pub dependants: Vec<TaskId>,
    /// Number of needed tasks that are not done.
    pub needs_left: u32,
    /// The place where the next run begins.
    pub next: Next,
    /// The latest run.
    pub last_run: Option<RunId>,
    /// Number of times the job was fired.
    pub firing: u32,
    /// Time of the latest firing.
    #[serde(default, skip_serializing_if = "is_epoch")]
    pub fired_at: Time,
    /// True if the job's scheduled firings are skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// The current failures of a scheduled job, if they are transient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<JobFailures>,
    /// Number of times the script was started in this firing.
    pub executions: u32,
    /// True if the job is to be fired again when it is done.
    pub fire_later: bool,
    /// The task's own counters.
    pub counters: Counters,
    /// The tries that the task can give back.
    pub charged: Vec<ChargedTries>,
    /// The error that the current attempt is meant to get past.
    pub retrying: Option<Signature>,
    /// The latest fault.
    pub failure: Option<Arc<Fault>>,
    /// The fault of the latest red check, whatever was met after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_failure: Option<Arc<Fault>>,
    /// The failures that the next attempt has to get past, and the approaches that failed on the
    /// way.
    #[serde(default, skip_serializing_if = "Setbacks::is_none")]
    pub setbacks: Setbacks,
    /// Number of runs that began anew instead of resuming an earlier one.
    pub attempts: u32,
    /// The agent's approach in the attempt that is being checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<Arc<Approach>>,
    /// The run in which the agent ended without a change and was asked to do the work or to explain
    /// why none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudged: Option<RunId>,
    /// The agent's explanation why no change was needed, if the task is done without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Arc<str>>,
    /// Actions that the agent was denied, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// The repairs of a job's script in this firing.
    #[serde(default, skip_serializing_if = "Repairs::is_none")]
    pub repairs: Repairs,
    /// The check results of the latest attempt, one entry for each gate that it reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Arc<Checked>>,
    /// The latest accepted reports on a session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Request>,
    /// The fault that is handled once the outcome of an action is known.
    pub unsettled: Option<Arc<Fault>>,
    /// Actions that the agent declared for after the checks.
    pub declared: Vec<Arc<MutationSpec>>,
    /// The ledger entries of this task or firing.
    pub ledger: Vec<MutationId>,
    /// Commands that the agent had running at its latest report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running_commands: Vec<Arc<str>>,
    /// The operator's latest answer.
    pub guidance: Option<Arc<Guidance>>,
    /// The refusal that the operator lifted for the next run.
    pub allowance: Option<Signature>,
    /// The commands that the operator allowed with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_commands: Vec<String>,
    /// Cost so far.
    pub spent: Amount,
    /// Maximum cost of the calls in progress.
    pub reserved: Amount,
    /// Amount by which the operator raised the budget.
    pub raised: Amount,
}

impl Task {
    /// Creates a pending task.
    pub fn new(id: TaskId, build: BuildId, spec: Arc<TaskSpec>, needs_left: u32) -> Self {
        let next = match spec.work() {
            Work::Task => Next::at_attempt(Start::Fresh),
            Work::Job => Next::EXECUTE,
        };
        Self {
            id,
            build,
            spec,
            beside: Exclusivity::Everyone,
            state: TaskState::Pending { run: None },
            dependants: Vec::new(),
            needs_left,
            next,
            last_run: None,
            firing: 0,
            fired_at: Time::EPOCH,
            held: false,
            failing: None,
            executions: 0,
            fire_later: false,
            counters: Counters::default(),
            charged: Vec::new(),
            retrying: None,
            failure: None,
            check_failure: None,
            setbacks: Setbacks::default(),
            attempts: 0,
            approach: None,
            nudged: None,
            unchanged: None,
            refused: Vec::new(),
            repairs: Repairs::default(),
            checked: Vec::new(),
            reports: Vec::new(),
            unsettled: None,
            declared: Vec::new(),
            ledger: Vec::new(),
            running_commands: Vec::new(),
            guidance: None,
            allowance: None,
            allowed_commands: Vec::new(),
            spent: Amount::ZERO,
            reserved: Amount::ZERO,
            raised: Amount::ZERO,
        }
    }

    /// Returns the kind of work: a task or a job.
    pub fn work(&self) -> Work {
        self.spec.work()
    }

    /// Returns whether the task is a job that is fired by a schedule.
    pub fn is_scheduled(&self) -> bool {
        self.spec.job.is_some_and(|job| job.scheduled)
    }

    /// Returns whether an external runtime works on the task.
    pub fn is_session(&self) -> bool {
        self.spec.session.is_some()
    }

    /// Returns the gate that the next run needs at its start, if any.
    pub fn gate_needed(&self) -> Option<GateKey> {
        self.next.step.needs_gate().then_some(self.spec.gate)
    }

    /// Returns the scope within which the key of one of its actions is unique.
    pub fn occurrence(&self, spec: &MutationSpec) -> Occurrence {
        if spec.permanent {
            Occurrence::Project
        } else if self.work() == Work::Task && spec.kind.belongs_to_attempt() {
            Occurrence::Attempt(self.id, self.attempts)
        } else {
            Occurrence::Firing(self.id, self.firing)
        }
    }

    /// Returns the action at this index: first those of the specification, then those that the
    /// agent declared.
    pub fn action_at(&self, at: u32) -> Option<&Arc<MutationSpec>> {
        let at = at as usize;
        let standing = &self.spec.mutations;
        match standing.get(at) {
            Some(spec) => Some(spec),
            None => self.declared.get(at - standing.len()),
        }
    }

    /// Returns whether the task has charged a failure to the current generation of the error's
    /// counter.
    pub fn has_charged(&self, signatures: &Signatures, signature: Signature) -> bool {
        let life = signatures.get(signature).map(|record| record.life);
        self.charged.iter().any(|known| known.signature == signature && Some(known.life) == life)
    }

    /// Returns the failures in a row of `operation`.
    pub const fn transient_failures(&self, operation: Operation) -> Transient {
        self.counters.transient[operation as usize]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_epoch(time: &Time) -> bool {
    *time == Time::EPOCH
}
