//! The form in which every reader receives an event: with the builds, tasks, runs and failures that
//! it names.

use std::sync::Arc;

use serde::Serialize;

use super::event::{Event, Raised, Reconciled, RecordedEvent};
use super::ids::{BuildId, EffectId, MutationId, RunId, TaskId};
use super::why::Why;
use crate::fault::{Category, Code, Fault};
use crate::time::Time;

/// An event with its context, as every reader of events receives it.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Event"))]
pub struct EventEnvelope<'a> {
    /// Position in the project's journal, without gaps.
    pub seq: u64,
    /// Time of the event, in milliseconds since the Unix epoch.
    pub at: Time,
    /// Name of the project.
    pub project: &'a str,
    /// The build that the event is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildId>,
    /// The task that the event is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The run that the event is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The code of the failure that the event is about, so that readers need not look for it in
    /// `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The category of that failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// The reason for the event, if it was a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a Why>,
    /// The event's `type` and `data`.
    #[serde(flatten)]
    pub event: &'a Event,
}

/// The ids that an event carries itself. The task and the build of a run are known to the state
/// only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventIds {
    /// The build, if the event names one.
    pub build: Option<BuildId>,
    /// The task, if the event names one.
    pub task: Option<TaskId>,
    /// The run, if the event names one.
    pub run: Option<RunId>,
}

impl Event {
    /// Returns the build that the event starts, if it starts one.
    pub const fn started_build(&self) -> Option<BuildId> {
        match self {
            Self::BuildStarted { build, .. } => Some(*build),
            _ => None,
        }
    }

    /// Returns the action that the event is about, if it is about one.
    pub const fn mutation(&self) -> Option<MutationId> {
        match self {
            Self::MutationIntended { mutation, .. }
            | Self::MutationInFlight { mutation, .. }
            | Self::MutationProbing { mutation, .. }
            | Self::MutationSettling { mutation, .. }
            | Self::MutationApplied { mutation, .. }
            | Self::MutationFailed { mutation }
            | Self::MutationIndeterminate { mutation, .. }
            | Self::MutationReconciled { mutation, .. } => Some(*mutation),
            _ => None,
        }
    }

    /// Returns the fault that a run met, if the event records one.
    pub const fn met_fault(&self) -> Option<&Arc<Fault>> {
        match self {
            Self::FaultMet { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// Returns the earlier outcome of the action that the event declares, if it is known.
    pub const fn declared_before(&self) -> Option<Reconciled> {
        match self {
            Self::Declared { before, .. } => *before,
            _ => None,
        }
    }

    /// Returns the run that the event ends or pauses without success, if any.
    pub const fn ended_run(&self) -> Option<RunId> {
        match self {
            Self::RunFailed { run, .. }
            | Self::RunPaused { run, .. }
            | Self::RunCancelled { run, .. }
            | Self::RunCrashed { run, .. } => Some(*run),
            _ => None,
        }
    }

    /// Returns the effect that has to be stopped because of the event, if any.
    pub const fn stopped_effect(&self) -> Option<EffectId> {
        match self {
            Self::RunPaused { stop, .. }
            | Self::RunFailed { stop, .. }
            | Self::RunCancelled { stop, .. } => *stop,
            _ => None,
        }
    }

    /// Returns the ids that the event carries itself.
    pub fn subject_ids(&self) -> EventIds {
        match self {
            Self::BuildStarted { build, .. }
            | Self::BuildWaiting { build }
            | Self::BuildResumed { build }
            | Self::BuildCompleted { build }
            | Self::BuildFailed { build, .. }
            | Self::BuildCancelled { build }
            | Self::BuildPaused { build, .. }
            | Self::Sleeping { build, .. }
            | Self::Waking { build }
            | Self::BaseJudged { build, .. }
            | Self::LimitRaised {
                raised:
                    Raised::Questions { build, .. }
                    | Raised::Build { build, .. }
                    | Raised::Day { build, .. },
            } => EventIds { build: Some(*build), ..EventIds::default() },

            Self::JobDefined { task, .. }
            | Self::JobFired { task }
            | Self::JobHeld { task }
            | Self::JobReleased { task }
            | Self::JobFireLater { task }
            | Self::JobMissed { task, .. }
            | Self::Reported { task, .. }
            | Self::TaskDone { task, .. }
            | Self::TaskFailed { task, .. }
            | Self::TaskSkipped { task, .. }
            | Self::TaskCancelled { task }
            | Self::TaskUnparked { task, .. }
            | Self::TaskRevived { task }
            | Self::Recovered { task, .. }
            | Self::QuestionJoined { task, .. }
            | Self::GateProbing { task, .. }
            | Self::LimitRaised { raised: Raised::Task { task, .. } } => {
                EventIds { task: Some(*task), ..EventIds::default() }
            }

            Self::TaskBackingOff { task, run, .. }
            | Self::TaskParked { task, run, .. }
            | Self::TaskReady { task, run, .. } => {
                EventIds { task: Some(*task), run: *run, build: None }
            }

            Self::TaskReconciling { task, run, .. }
            | Self::RunStarted { run, task, .. }
            | Self::FaultMet { task, run, .. }
            | Self::Warned { task, run, .. }
            | Self::Retrying { task, run, .. }
            | Self::BudgetUpdated { task, run, .. } => {
                EventIds { task: Some(*task), run: Some(*run), build: None }
            }

            Self::RunStep { run, .. }
            | Self::StepDone { run }
            | Self::RunPhase { run, .. }
            | Self::RunPaused { run, .. }
            | Self::RunResumed { run, .. }
            | Self::RunFailed { run, .. }
            | Self::RunCommitted { run }
            | Self::RunCrashed { run, .. }
            | Self::RunCancelled { run, .. }
            | Self::RunProgress { run, .. }
            | Self::Observed { run, .. }
            | Self::Blamed { run, .. }
            | Self::ToolWaiting { run, .. }
            | Self::ApproachTaken { run, .. }
            | Self::Checked { run, .. }
            | Self::Declared { run, .. }
            | Self::Nudged { run }
            | Self::Thinking { run }
            | Self::ToolCalled { run, .. }
            | Self::Refused { run, .. }
            | Self::Narrated { run, .. }
            | Self::Remarked { run, .. }
            | Self::MutationIntended { run, .. }
            | Self::MutationInFlight { run, .. } => {
                EventIds { run: Some(*run), ..EventIds::default() }
            }

            Self::BaseChecked { build, run, .. } => {
                EventIds { build: Some(*build), run: Some(*run), task: None }
            }

            Self::QuestionAsked { question } => {
                EventIds { task: question.tasks.first().copied(), ..EventIds::default() }
            }

            Self::Ordered { build, task, .. } => {
                EventIds { build: *build, task: *task, ..EventIds::default() }
            }

            Self::Forgotten { .. }
            | Self::LossAccepted { .. }
            | Self::QuestionResolved { .. }
            | Self::QuestionWithdrawn { .. }
            | Self::MutationProbing { .. }
            | Self::MutationSettling { .. }
            | Self::MutationApplied { .. }
            | Self::MutationFailed { .. }
            | Self::MutationIndeterminate { .. }
            | Self::MutationReconciled { .. }
            | Self::GateWaiting { .. }
            | Self::GatePassing { .. }
            | Self::GateReleased { .. }
            | Self::GateGivenUp { .. } => EventIds::default(),
        }
    }

    /// Returns the code of the failure that the event itself carries.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::BuildFailed { fault, .. }
            | Self::FaultMet { fault, .. }
            | Self::Blamed { fault, .. } => Some(fault.code()),
            Self::TaskReconciling { fault, .. } => fault.as_ref().map(|fault| fault.code()),
            Self::QuestionAsked { question } => question.code(),
            Self::TaskParked { code, .. }
            | Self::RunPaused { code, .. }
            | Self::RunFailed { code, .. } => *code,
            Self::JobMissed { code, .. }
            | Self::TaskFailed { code, .. }
            | Self::ToolWaiting { code, .. }
            | Self::Warned { code, .. }
            | Self::Retrying { code, .. }
            | Self::GateWaiting { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl RecordedEvent {
    /// Returns the event's own failure code or, without one, the code that its decision was about.
    pub fn code(&self) -> Option<Code> {
        self.event.code().or_else(|| self.why.as_ref()?.code)
    }

    /// Returns the event with the context that it carries itself.
    pub fn to_envelope<'a>(&'a self, project: &'a str) -> EventEnvelope<'a> {
        let Self { seq, at, why, event } = self;
        let about = event.subject_ids();
        let code = self.code();
        EventEnvelope {
            seq: *seq,
            at: *at,
            project,
            build: about.build,
            task: about.task,
            run: about.run,
            code,
            category: code.map(|code| code.row().category),
            why: why.as_ref(),
            event,
        }
    }
}
