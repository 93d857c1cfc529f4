//! The form in which every reader receives an event.

use serde::Serialize;

use super::event::{Event, RecordedEvent};
use super::ids::{BuildId, RunId, TaskId};
use super::why::Why;
use crate::fault::{Category, Code};
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

impl RecordedEvent {
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
