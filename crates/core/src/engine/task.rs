//! Tasks: one unit of work each. A job is a task that is fired again and again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::apart::Beside;
use super::checked::Checked;
use super::ids::{BuildId, MutationId, QuestionId, RunId, TaskId};
use super::ledger::Occurrence;
use super::repairs::Repairs;
use super::run::{Next, Operation};
use super::setbacks::Setbacks;
use super::signatures::Signatures;
use crate::attempt::Approach;
use crate::fault::{Code, Fault, Work};
use crate::plan::{GateKey, MutationSpec, Request, TaskSpec};
use crate::policy::Amount;
use crate::question::Decision;
use crate::signature::Signature;
use crate::time::Time;

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TaskState {
    /// Waits for the tasks it needs, or for a free place.
    Pending {
        /// The paused run that goes on, where there is one.
        run: Option<RunId>,
    },
    /// A run is at work.
    Running {
        /// Which one.
        run: RunId,
    },
    /// Waits by itself.
    BackingOff {
        /// Until then.
        until: Option<Time>,
        /// At this gate.
        gate: Option<GateKey>,
        /// The paused run that goes on, where there is one.
        run: Option<RunId>,
    },
    /// Waits for a person.
    Parked {
        /// The answer it waits for.
        question: QuestionId,
        /// The paused run that goes on, where there is one.
        run: Option<RunId>,
    },
    /// The outcome of an action has to be found out.
    Reconciling {
        /// The run that performed it.
        run: RunId,
    },
    /// Done.
    Done,
    /// Left out.
    Skipped {
        /// Why.
        left: Left,
    },
    /// Failed for good.
    Failed {
        /// With this code.
        code: Code,
    },
    /// Cancelled with its build.
    Cancelled,
}

/// A task's state without its fields; builds count by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the states")]
pub enum Standing {
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

impl Standing {
    /// How many there are.
    pub const COUNT: usize = 9;

    /// In words.
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
    /// The state without its fields.
    pub const fn standing(&self) -> Standing {
        match self {
            Self::Pending { .. } => Standing::Pending,
            Self::Running { .. } => Standing::Running,
            Self::BackingOff { .. } => Standing::BackingOff,
            Self::Parked { .. } => Standing::Parked,
            Self::Reconciling { .. } => Standing::Reconciling,
            Self::Done => Standing::Done,
            Self::Skipped { .. } => Standing::Skipped,
            Self::Failed { .. } => Standing::Failed,
            Self::Cancelled => Standing::Cancelled,
        }
    }

    /// Whether nothing more happens to it by itself.
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

    /// The run that is at work or can go on.
    pub const fn run(&self) -> Option<RunId> {
        match self {
            Self::Pending { run } | Self::BackingOff { run, .. } | Self::Parked { run, .. } => *run,
            Self::Running { run } | Self::Reconciling { run } => Some(*run),
            Self::Done | Self::Skipped { .. } | Self::Failed { .. } | Self::Cancelled => None,
        }
    }
}

/// Why a task was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Left {
    /// A person decided so.
    Decided,
    /// A person did not allow what it needs.
    Denied,
    /// It needs a task that was left out or failed.
    Needs {
        /// Which one.
        task: TaskId,
    },
}

/// What a person said to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guidance {
    /// What they chose.
    pub decision: Decision,
    /// What they wrote.
    pub text: Option<Arc<str>>,
}

/// What a person allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allowance {
    /// The refusal it lifts.
    pub signature: Signature,
    /// For the whole project from now on, not for this one run.
    pub always: bool,
    /// The commands that may be run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// Repetitions of one operation along its chain of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transient {
    /// How often it failed in a row.
    pub count: u32,
    /// When it first did.
    pub since: Time,
}

/// A scheduled job that has not succeeded since it met something that passes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Firings in a row that gave up.
    pub firings: u32,
    /// When it began.
    pub since: Time,
}

/// Something that an agent was not allowed to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// The command, or what else it was.
    pub what: Arc<str>,
    /// Why not.
    pub why: Arc<str>,
}

/// What a task has charged to an error and can give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charged {
    /// The error.
    pub signature: Signature,
    /// The life of its counter: a reset starts another one.
    pub life: u32,
    /// How much.
    pub count: u32,
}

/// A task's own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// Faults in a row, whatever they are.
    pub consecutive: u32,
    /// Crashes in a row.
    pub crashes: u32,
    /// Times the conversation was shortened.
    pub compactions: u32,
    /// Faults of a job that call for a repair.
    pub repairs: u32,
    /// Failures of one git operation.
    pub git: u32,
    /// Repetitions, by operation.
    pub transient: [Transient; Operation::COUNT],
}

/// One unit of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The build it belongs to.
    pub build: BuildId,
    /// What it is.
    pub spec: Arc<TaskSpec>,
    /// Beside whom it may run.
    #[serde(default, skip_serializing_if = "Beside::is_everyone")]
    pub beside: Beside,
    /// Where it stands.
    pub state: TaskState,
    /// Tasks that need it.
    pub dependants: Vec<TaskId>,
    /// Tasks it needs that are not done.
    pub needs_left: u32,
    /// Where its next run begins.
    pub next: Next,
    /// Its latest run.
    pub last_run: Option<RunId>,
    /// How often a job was fired.
    pub firing: u32,
    /// When it was last fired.
    #[serde(default, skip_serializing_if = "is_epoch")]
    pub fired_at: Time,
    /// A job is left alone when its time comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// How long a scheduled job has been failing for a passing reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// How often this firing's script was started.
    pub executions: u32,
    /// A job is to be fired again when it is done.
    pub fire_later: bool,
    /// Its counters.
    pub counters: Counters,
    /// What it can give back.
    pub charged: Vec<Charged>,
    /// The error its current attempt is meant to get past.
    pub retrying: Option<Signature>,
    /// The fault it met last.
    pub failure: Option<Arc<Fault>>,
    /// The latest check that was red, whatever was met after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_failure: Option<Arc<Fault>>,
    /// What its next attempt has to get past, and what failed on the way.
    #[serde(default, skip_serializing_if = "Setbacks::is_none")]
    pub setbacks: Setbacks,
    /// How often an agent began on it anew.
    pub attempts: u32,
    /// What its agent did in the attempt that is being checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<Arc<Approach>>,
    /// The run in which its agent ended without a change and was asked to do the work or to say why
    /// none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudged: Option<RunId>,
    /// It is done and nothing had to be changed: why, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Arc<str>>,
    /// What its agent was not allowed to do, without repetitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// What was done about a job's script in this firing.
    #[serde(default, skip_serializing_if = "Repairs::is_none")]
    pub repairs: Repairs,
    /// What the checks said of its latest attempt, one entry for each gate it came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Arc<Checked>>,
    /// The latest reports on a session that were taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Request>,
    /// A fault that waits until the outcome of an action is known.
    pub unsettled: Option<Arc<Fault>>,
    /// Actions its agent declared for after the checks.
    pub declared: Vec<Arc<MutationSpec>>,
    /// Its entries in the ledger, for this task or firing.
    pub ledger: Vec<MutationId>,
    /// Commands of its agent that were running when it was last heard of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running_commands: Vec<Arc<str>>,
    /// What a person said last.
    pub guidance: Option<Arc<Guidance>>,
    /// What a person allowed for its next run.
    pub allowance: Option<Signature>,
    /// The commands that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_commands: Vec<String>,
    /// What it has cost.
    pub spent: Amount,
    /// What its running calls may cost.
    pub reserved: Amount,
    /// How much its budget was raised.
    pub raised: Amount,
}

impl Task {
    /// A task at its beginning.
    pub fn new(id: TaskId, build: BuildId, spec: Arc<TaskSpec>, needs_left: u32) -> Self {
        let next = match spec.work() {
            Work::Task => Next::attempt(super::effect::Start::Fresh),
            Work::Job => Next::EXECUTE,
        };
        Self {
            id,
            build,
            spec,
            beside: Beside::Everyone,
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

    /// Which of the two kinds of work it is.
    pub fn work(&self) -> Work {
        self.spec.work()
    }

    /// Whether it is a job that is fired by its schedule.
    pub fn is_scheduled(&self) -> bool {
        self.spec.job.is_some_and(|job| job.scheduled)
    }

    /// Whether a runtime elsewhere works on it.
    pub fn is_session(&self) -> bool {
        self.spec.session.is_some()
    }

    /// The gate its next run begins at, where it needs one.
    pub fn gate_needed(&self) -> Option<GateKey> {
        self.next.step.needs_gate().then_some(self.spec.gate)
    }

    /// Within what the key of one of its actions is unique.
    pub fn occurrence(&self, spec: &MutationSpec) -> Occurrence {
        if spec.permanent {
            Occurrence::Project
        } else if self.work() == Work::Task && spec.kind.belongs_to_the_attempt() {
            Occurrence::Attempt(self.id, self.attempts)
        } else {
            Occurrence::Firing(self.id, self.firing)
        }
    }

    /// The action at this position: the task's standing ones first, then those its agent declared.
    pub fn action(&self, at: u32) -> Option<&Arc<MutationSpec>> {
        let (at, standing) = (at as usize, &self.spec.mutations);
        match standing.get(at) {
            Some(spec) => Some(spec),
            None => self.declared.get(at - standing.len()),
        }
    }

    /// Whether a failure of this task counts against the tries the error has now.
    pub fn has_charged(&self, signatures: &Signatures, signature: Signature) -> bool {
        let life = signatures.get(signature).map(|record| record.life);
        self.charged.iter().any(|known| known.signature == signature && Some(known.life) == life)
    }

    /// How often `operation` failed in a row.
    pub const fn transient(&self, operation: Operation) -> Transient {
        self.counters.transient[operation as usize]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_epoch(time: &Time) -> bool {
    *time == Time::EPOCH
}
