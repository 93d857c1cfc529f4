//! An event as every reader gets it.

use serde::Serialize;

use super::event::{Event, Recorded};
use super::ids::{BuildId, RunId, TaskId};
use super::why::Why;
use crate::fault::{Category, Code};
use crate::time::Time;

/// An event with its surroundings, as every reader of events gets it.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Event"))]
pub struct Envelope<'a> {
    /// Its position in the project's journal, without gaps.
    pub seq: u64,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at: Time,
    /// The project.
    pub project: &'a str,
    /// The build it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildId>,
    /// The task it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The run it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The failure that it is about, so that nobody has to look for it in what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The category of that failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// Why it was decided, where it was a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a Why>,
    /// Its `type` and its `data`.
    #[serde(flatten)]
    pub event: &'a Event,
}

impl Recorded {
    /// With the surroundings that it names by itself.
    pub fn envelope<'a>(&'a self, project: &'a str) -> Envelope<'a> {
        let Self { seq, at, why, event } = self;
        let (about, code) = (event.about(), self.code());
        Envelope {
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
